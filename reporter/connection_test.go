// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestP2AnAPIServerSaysWhetherItsWatchCacheIsBehind asks a real one for what it has,
// and for what it does not have yet, as if its etcd told its reads more than its
// watches.
func TestP2AnAPIServerSaysWhetherItsWatchCacheIsBehind(t *testing.T) {
	for _, resource := range []schema.GroupVersionResource{podResource, deploymentResource} {
		t.Run(resource.Resource, func(t *testing.T) {
			c, err := newConnection(sharedConfig(t), testScheme(t), resource)
			if err != nil {
				t.Fatal(err)
			}
			defer c.cut()
			var current string
			eventually(t, "it says what it has", func() bool {
				current, err = c.currentVersion(t.Context())
				return err == nil
			})
			// It fills the cache of a kind when the first one asks for it.
			eventually(t, "it has reached what it has", func() bool { return c.hasReached(t.Context(), current) == nil })
			version, err := strconv.ParseUint(current, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			// It takes some seconds to say so, on a busy machine more than a proof waits.
			eventually(t, "it says that it has not reached what is yet to come", func() bool {
				err := c.hasReached(t.Context(), strconv.FormatUint(version+1e6, 10))
				if err == nil {
					t.Fatal("it has reached what is yet to come")
				}
				return errors.Is(err, errBehind)
			})
		})
	}
}

// toldBy returns a connection to an API server that answers like this.
func toldBy(t *testing.T, answer http.HandlerFunc) *connection {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := newConnection(&rest.Config{Host: server.URL}, testScheme(t), deploymentResource)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.cut)
	return c
}

// TestP2AProofAsksForAsLittleAsProves: a version would have the API server answer
// the first list from a cache; whole objects would cost as much as an informer.
func TestP2AProofAsksForAsLittleAsProves(t *testing.T) {
	const (
		ofOne  = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		ofList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	)
	type request struct{ Path, Query, Accept string }
	for name, tc := range map[string]struct {
		ask    func(c *connection) (version string, err error)
		answer string
		want   request
		// wantVersion is what the answer is understood to tell.
		wantVersion string
	}{
		"the current version": {
			ask:         func(c *connection) (string, error) { return c.currentVersion(t.Context()) },
			answer:      `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"resourceVersion":"3"}}]}`,
			want:        request{"/apis/styrmin.io/v1alpha1/styrmindeployments", "limit=1", ofList},
			wantVersion: "7",
		},
		"whether the watch cache has reached it": {
			ask:    func(c *connection) (string, error) { return "", c.hasReached(t.Context(), "7") },
			answer: `{"metadata":{"resourceVersion":"7"},"items":[]}`,
			want: request{
				"/apis/styrmin.io/v1alpha1/namespaces/default/styrmindeployments",
				"fieldSelector=metadata.name%3Dstyrmin-probe&resourceVersion=7&resourceVersionMatch=NotOlderThan", ofList,
			},
		},
		"what happened since the store's version": {
			ask: func(c *connection) (version string, err error) {
				err = c.eventsSince(t.Context(), "5", func(seen string) bool {
					version = seen
					return false
				})
				return version, err
			},
			answer:      `{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"6"}}}`,
			want:        request{"/apis/styrmin.io/v1alpha1/styrmindeployments", "resourceVersion=5&timeoutSeconds=1&watch=true", ofOne},
			wantVersion: "6",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []request
			version, err := tc.ask(toldBy(t, func(w http.ResponseWriter, r *http.Request) {
				got = append(got, request{r.URL.Path, r.URL.Query().Encode(), r.Header.Get("Accept")})
				writeText("application/json", tc.answer)(w, r)
			}))
			if err != nil || version != tc.wantVersion {
				t.Errorf("version = %q, %v, want %q", version, err, tc.wantVersion)
			}
			if diff := cmp.Diff([]request{tc.want}, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestP4AnAnswerWithoutAUIDIsAnError(t *testing.T) {
	for _, answer := range []string{`{"error":"Sign in"}`, `null`, `<html>Sign in</html>`} {
		uid, err := toldBy(t, writeText("application/json", answer)).uid(t.Context(), "kube-system")
		if err == nil {
			t.Errorf("The UID in %s is %q, without an error", answer, uid)
		}
	}
}

// TestP2AWatchThatStillTellsWhenItsTimeComesProvesNothing: what it had not come to
// yet may have happened too.
func TestP2AWatchThatStillTellsWhenItsTimeComesProvesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		answer, event, end time.Duration
		want               error
	}{
		"it ends before its time":           {end: probeWatch / 10, want: errCutShort},
		"it begins late and ends before it": {answer: probeWatch, end: probeWatch, want: errCutShort},
		"it still tells":                    {event: probeWatch * 8 / 10, end: probeWatch, want: errCutShort},
		"it tells nothing":                  {end: probeWatch},
	} {
		t.Run(name, func(t *testing.T) {
			c := toldBy(t, func(w http.ResponseWriter, _ *http.Request) {
				began := time.Now()
				time.Sleep(tc.answer)
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				if tc.event > 0 {
					time.Sleep(tc.event)
					_, _ = io.WriteString(w, `{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"2"}}}`)
					_ = http.NewResponseController(w).Flush()
				}
				time.Sleep(tc.end - time.Since(began))
			})
			// On a busy machine a watch that is short may seem to have lasted.
			eventually(t, "it ends so", func() bool {
				return errors.Is(c.eventsSince(t.Context(), "1", func(string) bool { return true }), tc.want)
			})
		})
	}
}

// TestCaseH05AKindThatIsAboutToGoIsNotServed: what the API server tells of its
// kinds may be late.
func TestCaseH05AKindThatIsAboutToGoIsNotServed(t *testing.T) {
	served := metav1.APIResource{Name: deploymentResource.Resource, Verbs: metav1.Verbs{"create", "list"}}
	going := metav1.APIResource{Name: deploymentResource.Resource, Verbs: metav1.Verbs{"delete", "list"}}
	for name, tc := range map[string]struct {
		answers []metav1.APIResource
		want    error
	}{
		"it is served":           {[]metav1.APIResource{served, served}, nil},
		"it is about to go":      {[]metav1.APIResource{served, going}, errNotServed},
		"it is being deleted":    {[]metav1.APIResource{going}, errNotServed},
		"it is served by others": {[]metav1.APIResource{{Name: "others", Verbs: served.Verbs}}, errNotServed},
	} {
		t.Run(name, func(t *testing.T) {
			answers := make(chan metav1.APIResource, len(tc.answers))
			for _, answer := range tc.answers {
				answers <- answer
			}
			close(answers)
			c := toldBy(t, func(w http.ResponseWriter, _ *http.Request) {
				writeJSON(w, metav1.APIResourceList{APIResources: []metav1.APIResource{<-answers}})
			})
			if err := c.staysServed(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("error = %v, want %v", err, tc.want)
			}
			if len(answers) > 0 {
				t.Errorf("It does not ask %d times", len(tc.answers))
			}
		})
	}
}
