// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// request is one request to the API server.
type request struct {
	verb, group, resource, namespace, name string
	// metadataOnly: the answer is to have no more than the objects' metadata.
	metadataOnly bool
	// selector is the label selector of a list or watch.
	selector string
	// applies: the write is a server-side apply.
	applies bool
	body    []byte
	// refused: it met a newer object, and changed nothing.
	refused bool
}

// String is the request as an RBAC rule would name it, and the object.
func (r request) String() string {
	return fmt.Sprintf("%s %s %s/%s", r.verb, r.resource, r.namespace, r.name)
}

// isWrite tells whether the request changes something besides events. A question
// about permissions has the form of a write and stores nothing.
func (r request) isWrite() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, r.verb) && r.resource != "events" && r.resource != "selfsubjectaccessreviews"
}

// wire records what a client sends to the API server, and lets a test meddle.
type wire struct {
	mu       sync.Mutex
	requests []request
	// before is called before a request is sent; an error is the answer instead.
	before func(request) error
	// after is called with the answer's status code.
	after func(request, int)
}

// tapped returns a config whose clients' requests the wire sees.
func (w *wire) tapped(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			seen := parseRequest(r)
			if w.before != nil {
				if err := w.before(seen); err != nil {
					return nil, err
				}
			}
			w.mu.Lock()
			position := len(w.requests)
			w.requests = append(w.requests, seen)
			w.mu.Unlock()
			answer, err := next.RoundTrip(r)
			if err == nil && answer.StatusCode == http.StatusConflict {
				w.mu.Lock()
				w.requests[position].refused = true
				w.mu.Unlock()
			}
			if w.after != nil && err == nil {
				w.after(seen, answer.StatusCode)
			}
			return answer, err
		})
	})
	return out
}

// all returns the requests so far that match.
func (w *wire) all(match func(request) bool) []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []request
	for _, r := range w.requests {
		if match(r) {
			out = append(out, r)
		}
	}
	return out
}

// writes returns the writes so far to objects of the namespaces, or of their
// names.
func (w *wire) writes(namespaces ...string) []request {
	return w.all(func(r request) bool {
		return r.isWrite() && (slices.Contains(namespaces, r.namespace) || slices.Contains(namespaces, r.name))
	})
}

// writesFrom returns those from a position on that changed something: what was read
// before the last write leads to one that is refused.
func (w *wire) writesFrom(position int, namespaces ...string) []request {
	return slices.DeleteFunc(w.writes(namespaces...)[position:], func(r request) bool { return r.refused })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// parseRequest reads a Kubernetes request: its path and method say it all.
func parseRequest(r *http.Request) request {
	out := request{}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		out.group, parts = parts[1], parts[3:]
	default:
		return request{verb: "get", resource: r.URL.Path}
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		out.namespace, parts = parts[1], parts[2:]
	}
	out.resource = parts[0]
	if len(parts) > 1 {
		out.name = parts[1]
	}
	if len(parts) > 2 {
		out.resource += "/" + parts[2]
	}
	out.verb = verbOf(r, out.name)
	out.metadataOnly = strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	out.selector = r.URL.Query().Get("labelSelector")
	out.applies = strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch")
	if r.Body != nil && out.isWrite() {
		out.body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(out.body))
	}
	return out
}

func verbOf(r *http.Request, name string) string {
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		return "watch"
	case r.Method == http.MethodGet && name == "":
		return "list"
	case r.Method == http.MethodDelete && name == "":
		return "deletecollection"
	default:
		return map[string]string{
			http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
			http.MethodPatch: "patch", http.MethodDelete: "delete",
		}[r.Method]
	}
}
