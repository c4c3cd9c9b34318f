// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// listerOf returns a live lister of deployments from an API server that answers
// like this.
func listerOf(t *testing.T, answer http.HandlerFunc) *liveLister[*styrminv1.StyrminDeployment] {
	t.Helper()
	return &liveLister[*styrminv1.StyrminDeployment]{
		connection: toldBy(t, answer),
		newList:    func() client.ObjectList { return &styrminv1.StyrminDeploymentList{} },
		transform:  deploymentTransform,
	}
}

// writePage answers with a page of a list, as the API server does. next is the token
// of the page after it, "" for none.
func writePage(w http.ResponseWriter, next string, names ...string) {
	page := styrminv1.StyrminDeploymentList{
		TypeMeta: metav1.TypeMeta{APIVersion: styrminv1.GroupVersion.String(), Kind: "StyrminDeploymentList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: next},
	}
	for _, name := range names {
		page.Items = append(page.Items, *testDeployment(name, func(d *styrminv1.StyrminDeployment) {
			d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "styrmin-operator"}}
		}))
	}
	writeJSON(w, page)
}

// writeStatus answers with an error, as the API server does.
func writeStatus(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	writeJSON(w, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason,
	})
}

// TestP2ALiveListHasAllPagesOfAConsistentRead: with a resource version, be it 0, the
// API server might answer from a cache that is behind its etcd.
func TestP2ALiveListHasAllPagesOfAConsistentRead(t *testing.T) {
	var asked []string
	l := listerOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.Query().Encode())
		switch r.URL.Query().Get("continue") {
		case "":
			writePage(w, "second", "a", "b")
		case "second":
			writePage(w, "third", "c")
		default:
			writePage(w, "", "d")
		}
	})
	got, err := l.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Without their managed fields: all have passed the transform.
	want := []*styrminv1.StyrminDeployment{testDeployment("a"), testDeployment("b"), testDeployment("c"), testDeployment("d")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	wantAsked := []string{
		"/apis/styrmin.io/v1alpha1/styrmindeployments?limit=500",
		"/apis/styrmin.io/v1alpha1/styrmindeployments?continue=second&limit=500",
		"/apis/styrmin.io/v1alpha1/styrmindeployments?continue=third&limit=500",
	}
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestP3ALiveListIsWholeOrFails: the objects of the pages that came must not pass for
// all that there are.
func TestP3ALiveListIsWholeOrFails(t *testing.T) {
	for name, second := range map[string]http.HandlerFunc{
		"the API server has forgotten the moment of the first page": func(w http.ResponseWriter, _ *http.Request) {
			writeStatus(w, http.StatusGone, metav1.StatusReasonExpired)
		},
		"the API server fails": func(w http.ResponseWriter, _ *http.Request) {
			writeStatus(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
		},
		"an error in a 200": func(w http.ResponseWriter, _ *http.Request) {
			writeStatus(w, http.StatusOK, metav1.StatusReasonInternalError)
		},
		"HTML in a 200":                    writeText("text/html", "<html>Sign in</html>"),
		"HTML that is said to be JSON":     writeText("application/json", "<html>Sign in</html>"),
		"JSON that is no list":             writeText("application/json", `{"error":"Sign in"}`),
		"a success that is no list":        writeText("application/json", `{"kind":"Status","apiVersion":"v1","status":"Success"}`),
		"a list of something else":         writeText("application/json", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`),
		"null":                             writeText("application/json", `null`),
		"an empty body":                    writeText("application/json", ""),
		"half a page that seems to be all": writeText("application/json", `{"kind":"StyrminDeploymentList","apiVersion":"styrmin.io/v1alpha1","items":[`),
		"half a page of a length that is told": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			writePage(w, "", "b")
		},
		"a page after which the connection breaks": func(w http.ResponseWriter, _ *http.Request) {
			writePage(w, "", "b")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			var pages atomic.Int64
			l := listerOf(t, func(w http.ResponseWriter, r *http.Request) {
				pages.Add(1)
				if r.URL.Query().Get("continue") == "" {
					writePage(w, "second", "a")
					return
				}
				second(w, r)
			})
			got, err := l.list(t.Context())
			if err == nil || len(got) > 0 {
				t.Errorf("It lists %d deployments, error = %v", len(got), err)
			}
			if pages.Load() < 2 {
				t.Error("It does not come to the second page")
			}
		})
	}
}

func writeText(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { body(http.StatusOK, contentType, text)(w, r, nil) }
}

// TestP2EachLiveListConnectsAnew: a connection that was kept may be frozen by now.
func TestP2EachLiveListConnectsAnew(t *testing.T) {
	from := map[string]bool{}
	l := listerOf(t, func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true
		writePage(w, "")
	})
	for range 3 {
		if _, err := l.list(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(from) != 3 {
		t.Errorf("3 lists come over %d connections", len(from))
	}
}
