// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// stateTimeout bounds the wait for the states up to the next action of a recording.
	stateTimeout = 4 * time.Minute
	// failingTimeout is the Helm timeout of the specs that are meant to fail: the recordings waited longer.
	failingTimeout = 4 * time.Second
	// patientTimeout is that of all others, so that a busy machine does not make them fail.
	patientTimeout = 3 * time.Minute
)

// sourceCreated is the event of recording 06c before which the missing HelmRepository was created.
const sourceCreated = 5

// TestRecordings does to our controller what was done to a real Flux and compares every state that a reader of the
// HelmRelease can see, in its order.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/recordings/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("No recordings: %v", err)
	}
	createNamespace(t, "flux-system")
	create(t, repository("flux-system", "charts"))
	// All at once, whatever the number of processors: they wait far more than they compute.
	var replays sync.WaitGroup
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		replays.Go(func() {
			t.Run(name, func(t *testing.T) { replay(t, name, readRecording(t, name)) })
		})
	}
	replays.Wait()
}

// replay takes each action of the recording when our controller has come as far as the real one had, and compares.
func replay(t *testing.T, name string, events []event) {
	first := events[0].object
	createNamespace(t, first.Namespace)
	createNamespace(t, first.Spec.TargetNamespace)
	seen := watchRelease(t, first.Namespace)
	var want []state
	for i, recorded := range events {
		var before *event
		if i > 0 {
			before = &events[i-1]
		}
		if isUserAction(before, recorded) {
			seen.await(t, want)
			act(t, recorded)
		}
		if name == "06c-source-object-missing" && i == sourceCreated {
			seen.await(t, want)
			create(t, repository(first.Namespace, "later"))
		}
		want = appendState(want, recorded)
	}
	got := seen.await(t, want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-recorded +ours):\n%s", diff)
	}
}

// act does what the recorded event shows a person to have done.
func act(t *testing.T, recorded event) {
	t.Helper()
	c := testCluster.client
	wanted := recorded.object.DeepCopy()
	live := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.Namespace, Name: wanted.Name}}
	switch {
	case recorded.kind == watch.Added:
		live.Spec = adapted(wanted.Spec)
		live.Labels, live.Annotations = wanted.Labels, wanted.Annotations
		create(t, live)
	case !wanted.DeletionTimestamp.IsZero():
		if err := c.Delete(t.Context(), live); err != nil {
			t.Fatalf("Delete the HelmRelease: %v", err)
		}
	default:
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
			t.Fatalf("Read the HelmRelease: %v", err)
		}
		base := live.DeepCopy()
		live.Spec = adapted(wanted.Spec)
		live.Labels, live.Annotations = wanted.Labels, wanted.Annotations
		if err := c.Patch(t.Context(), live, client.MergeFrom(base)); err != nil {
			t.Fatalf("Change the HelmRelease: %v", err)
		}
	}
}

// adapted names the images of a recorded spec in the words of this cluster's simulated pods, and waits for those that
// never get ready only briefly: not for that there are none, and not for a rollback from them.
func adapted(spec helmv2.HelmReleaseSpec) helmv2.HelmReleaseSpec {
	patient := &metav1.Duration{Duration: patientTimeout}
	spec.Timeout = patient
	if spec.Values == nil {
		return spec
	}
	values := string(spec.Values.Raw)
	if strings.Contains(values, "server:bad") && !strings.Contains(values, `"replicas":0`) {
		spec.Timeout = &metav1.Duration{Duration: failingTimeout}
		spec.Rollback = &helmv2.Rollback{Timeout: patient}
		spec.Uninstall = &helmv2.Uninstall{Timeout: patient}
	}
	spec.Values.Raw = []byte(strings.NewReplacer(
		"server:bad", "server-does-not-exist:1", "server:slow", "server-slow:1", "hook:hookfail", "hook-fails:1",
	).Replace(values))
	return spec
}

// observed collects the states of one HelmRelease as a reader sees them.
type observed struct {
	mu      sync.Mutex
	states  []state
	changed chan struct{}
}

// watchRelease collects until the test ends.
func watchRelease(t *testing.T, namespace string) *observed {
	t.Helper()
	o := &observed{changed: make(chan struct{}, 1)}
	watcher, err := testCluster.client.Watch(t.Context(), &helmv2.HelmReleaseList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatalf("Watch the HelmReleases: %v", err)
	}
	t.Cleanup(watcher.Stop)
	go func() {
		for e := range watcher.ResultChan() {
			if hr, ok := e.Object.(*helmv2.HelmRelease); ok {
				o.add(event{kind: e.Type, object: *hr})
			}
		}
	}()
	return o
}

func (o *observed) add(e event) {
	o.mu.Lock()
	o.states = appendState(o.states, e)
	o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *observed) soFar() []state {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]state(nil), o.states...)
}

// await waits until as many states were seen as are wanted, and returns them.
func (o *observed) await(t *testing.T, want []state) []state {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stateTimeout)
	defer cancel()
	for {
		got := o.soFar()
		if len(got) >= len(want) {
			return got
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			t.Fatalf("states within %s (-recorded +ours):\n%s", stateTimeout, cmp.Diff(want, got))
		}
	}
}

func repository(namespace, name string) *sourcev1.HelmRepository {
	return &sourcev1.HelmRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       sourcev1.HelmRepositorySpec{URL: testCluster.chartsURL, Interval: metav1.Duration{Duration: 10 * time.Minute}},
	}
}

func createNamespace(t *testing.T, name string) {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := testCluster.client.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("Create %T %s: %v", object, object.GetName(), err)
	}
}
