// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

var (
	podResource        = corev1.SchemeGroupVersion.WithResource("pods")
	namespaceResource  = corev1.SchemeGroupVersion.WithResource("namespaces")
	deploymentResource = styrminv1.GroupVersion.WithResource("styrmindeployments")
)

const (
	// probeTimeout is how long one small request may take.
	probeTimeout = 4 * time.Second
	// probeWatch is how long the watch of a proof lasts.
	probeWatch = time.Second
	// servedPause is how long after it has told that a resource is served the API
	// server is asked again: what it serves follows a change of the definition, and
	// the objects go, each in its own time.
	servedPause = time.Second
	// dialTimeout is how long connecting to the API server may take.
	dialTimeout = 4 * time.Second

	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// connection asks the API server about one resource, over TCP connections that
// no informer and no other connection uses (P2): what freezes theirs does not
// freeze this one, and it can be cut without harm to others.
type connection struct {
	rest     rest.Interface
	resource schema.GroupVersionResource
	dialer   *connrotation.Dialer
	http     *http.Client
}

func newConnection(config *rest.Config, scheme *runtime.Scheme, resource schema.GroupVersionResource) (*connection, error) {
	config = rest.CopyConfig(config)
	groupVersion := resource.GroupVersion()
	config.GroupVersion = &groupVersion
	config.APIPath = "/apis"
	config.ContentType = runtime.ContentTypeJSON
	if groupVersion.Group == corev1.GroupName {
		config.APIPath = "/api"
		config.ContentType = runtime.ContentTypeProtobuf
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	// The reporter paces itself.
	config.QPS = -1
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	dialer := connrotation.NewDialer(dial)
	config.Dial = dialer.DialContext
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making an HTTP client: %w", err)
	}
	client, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a REST client: %w", err)
	}
	return &connection{rest: client, resource: resource, dialer: dialer, http: httpClient}, nil
}

// cut closes the TCP connections; the next request makes new ones.
func (c *connection) cut() {
	c.http.CloseIdleConnections()
	c.dialer.CloseAll()
}

func (c *connection) get(options *metav1.ListOptions) *rest.Request {
	// A retry would come out of the time that the proof has.
	return c.rest.Get().Resource(c.resource.Resource).VersionedParams(options, metav1.ParameterCodec).MaxRetries(0)
}

// uid returns the UID of the object of that name.
func (c *connection) uid(ctx context.Context, name string) (types.UID, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	body, err := c.rest.Get().Resource(c.resource.Resource).Name(name).SetHeader("Accept", acceptMetadata).MaxRetries(0).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the API server for %s/%s: %w", c.resource.Resource, name, err)
	}
	object := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(body, object); err != nil {
		return "", fmt.Errorf("reading the metadata of %s/%s: %w", c.resource.Resource, name, err)
	}
	if object.UID == "" {
		return "", fmt.Errorf("reading the metadata of %s/%s: the answer has no UID", c.resource.Resource, name)
	}
	return object.UID, nil
}

// currentVersion returns the resource version at which a consistent read of the
// resource was made. It fails where the API server, or its etcd, is away, and
// where the right to list the resource is missing.
func (c *connection) currentVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	body, err := c.get(&metav1.ListOptions{Limit: 1}).SetHeader("Accept", acceptMetadataList).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the API server for the current resource version: %w", err)
	}
	list := &metav1.PartialObjectMetadataList{}
	if err := json.Unmarshal(body, list); err != nil {
		return "", fmt.Errorf("reading the current resource version: %w", err)
	}
	return list.ResourceVersion, nil
}

// errBehind is an API server that tells its watches less than its etcd has.
var errBehind = errors.New("the API server's watch cache is behind its etcd")

// hasReached makes sure that the cache which the API server feeds its watches from
// holds all up to the version: a watch tells nothing of what that cache lacks, and
// does not wait for it. The API server waits some seconds for its cache with a list
// that asks for a version or a later one; this one is of a single name, which it
// looks up.
func (c *connection) hasReached(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := c.get(&metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		FieldSelector: "metadata.name=styrmin-probe",
	}).Namespace(metav1.NamespaceDefault).SetHeader("Accept", acceptMetadataList).Do(ctx).Error()
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return fmt.Errorf("%w: %w", errBehind, err)
	}
	if err != nil {
		return fmt.Errorf("asking the API server for resource version %s or later: %w", version, err)
	}
	return nil
}

// errCutShort is a watch that ended before its time, or before it had told all: the
// events that it did not bring may have happened.
var errCutShort = errors.New("the watch was cut short")

// eventsSince calls seen with the resource version of each change after the
// version since, in their order, until seen returns false or the watch is over.
// Whatever happened before the watch began is told at its start. Without an error,
// all of that was told or seen has stopped it.
func (c *connection) eventsSince(ctx context.Context, since string, seen func(version string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	began := time.Now()
	stream, err := c.get(&metav1.ListOptions{
		Watch: true, ResourceVersion: since, TimeoutSeconds: ptr.To(int64(probeWatch / time.Second)),
	}).SetHeader("Accept", acceptMetadata).Stream(ctx)
	if err != nil {
		return fmt.Errorf("watching from resource version %s: %w", since, err)
	}
	defer func() { _ = stream.Close() }()
	decoder := json.NewDecoder(stream)
	answered := time.Now()
	last := answered
	for {
		version, err := nextEvent(decoder)
		switch {
		case errors.Is(err, io.EOF):
			// Client-go's own watch does not tell a stream that the server has ended
			// from one that broke; and a server that goes down ends it early, maybe
			// after the request was long on its way. One that was still telling when its
			// time came may have had more to tell.
			isWhole := time.Since(began) >= probeWatch*9/10 && time.Since(answered) >= probeWatch/2
			if !isWhole || last.Sub(answered) > probeWatch/2 {
				return errCutShort
			}
			return nil
		case err != nil:
			return fmt.Errorf("watching from resource version %s: %w", since, err)
		case !seen(version):
			return nil
		}
		last = time.Now()
	}
}

// nextEvent returns the resource version of the next change, or an error: the
// server's own when the event is one.
func nextEvent(decoder *json.Decoder) (string, error) {
	var event struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := decoder.Decode(&event); err != nil {
		return "", err
	}
	if event.Type == watch.Error {
		status := metav1.Status{}
		if err := json.Unmarshal(event.Object, &status); err != nil {
			return "", err
		}
		return "", &apierrors.StatusError{ErrStatus: status}
	}
	object := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(event.Object, &object); err != nil {
		return "", err
	}
	return object.ResourceVersion, nil
}

// errNotServed is a resource that the API server does not fully serve: its
// definition is gone, or being deleted with all its objects.
var errNotServed = errors.New("the API server does not serve the resource any more, or its definition is being deleted")

// staysServed makes sure that the API server serves the resource, and that this is
// not about to end.
func (c *connection) staysServed(ctx context.Context) error {
	if err := c.isServed(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(servedPause):
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.isServed(ctx)
}

// isServed makes sure that the API server serves the resource and that its
// definition is not being deleted, in which case no objects can be created
// (case H05).
func (c *connection) isServed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	path := "/apis/" + c.resource.GroupVersion().String()
	body, err := c.rest.Get().AbsPath(path).SetHeader("Accept", runtime.ContentTypeJSON).MaxRetries(0).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("asking the API server for its resources: %w", err)
	}
	list := &metav1.APIResourceList{}
	if err := json.Unmarshal(body, list); err != nil {
		return fmt.Errorf("reading the API server's resources: %w", err)
	}
	for _, resource := range list.APIResources {
		if strings.EqualFold(resource.Name, c.resource.Resource) && slices.Contains(resource.Verbs, "create") {
			return nil
		}
	}
	return errNotServed
}
