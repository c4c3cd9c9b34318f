// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fakeInformers has one informer with the store that the test fills.
type fakeInformers struct {
	cache.Informers
	informer *fakeInformer
	err      error
}

func (f *fakeInformers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return f.informer, f.err
}

type fakeInformer struct {
	cache.Informer
	store  toolscache.Store
	synced bool
}

func (f *fakeInformer) HasSynced() bool            { return f.synced }
func (f *fakeInformer) GetStore() toolscache.Store { return f.store }

// fakeProof is a prover that has come to what the test says.
type fakeProof struct {
	provenAt time.Time
	err      error
}

func (f *fakeProof) run(context.Context)                      {}
func (f *fakeProof) state(context.Context) (time.Time, error) { return f.provenAt, f.err }

type fakeLive struct {
	pods  []*corev1.Pod
	err   error
	lists int
	// takes is called while it lists, nil for nothing.
	takes func()
}

func (f *fakeLive) list(context.Context) ([]*corev1.Pod, error) {
	f.lists++
	if f.takes != nil {
		f.takes()
	}
	return f.pods, f.err
}

// sourceHarness is a source of pods whose store holds "stored" while the API
// server has "live".
type sourceHarness struct {
	*informerSource[*corev1.Pod]
	clock    *clocktesting.FakeClock
	informer *fakeInformer
	proof    *fakeProof
	live     *fakeLive
}

func newSourceHarness(t *testing.T) *sourceHarness {
	t.Helper()
	h := &sourceHarness{
		clock:    clocktesting.NewFakeClock(testStart),
		informer: &fakeInformer{store: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc), synced: true},
		proof:    &fakeProof{provenAt: testStart},
		live:     &fakeLive{pods: []*corev1.Pod{testPod("prod-shop", "live")}},
	}
	if err := h.informer.store.Add(testPod("prod-shop", "stored")); err != nil {
		t.Fatal(err)
	}
	h.informerSource = &informerSource[*corev1.Pod]{
		clock:       h.clock,
		store:       &informerStore{informers: &fakeInformers{informer: h.informer}},
		proof:       h.proof,
		live:        h.live,
		observeLive: func(error) {},
		selects:     func(*corev1.Pod) bool { return true },
	}
	return h
}

func TestP2WhatIsNotProvenIsListedLiveOrNotReadAtAll(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(h *sourceHarness)
		// want is the pod that is read, "" for an error.
		want string
		// wantProven is how long after the start the data is proven.
		wantProven time.Duration
	}{
		"proven just now": {
			happens: func(h *sourceHarness) {},
			want:    "stored",
		},
		"the newest proof failed, but the one before is young enough": {
			happens: func(h *sourceHarness) {
				h.clock.Step(maxProofAge)
				h.proof.err = errTest
			},
			want: "stored",
		},
		"the last proof is older than the bound": {
			happens: func(h *sourceHarness) {
				h.clock.Step(maxProofAge + time.Second)
				h.proof.err = errTest
			},
			want: "live", wantProven: maxProofAge + time.Second,
		},
		"a proof has been running for longer than the bound": {
			happens: func(h *sourceHarness) { h.clock.Step(maxProofAge + time.Second) },
			want:    "live", wantProven: maxProofAge + time.Second,
		},
		"the watch is frozen (case B03)": {
			happens: func(h *sourceHarness) { h.proof.err = errFrozen },
			want:    "live",
		},
		"never proven": {
			happens: func(h *sourceHarness) { h.proof.provenAt, h.proof.err = time.Time{}, errTest },
			want:    "live",
		},
		"not proven, and the API server does not answer": {
			happens: func(h *sourceHarness) {
				h.proof.err = errFrozen
				h.live.err = errTest
			},
		},
		"the informer has not synced (case B01)": {
			happens: func(h *sourceHarness) {
				h.informer.synced = false
				h.proof.provenAt, h.proof.err = time.Time{}, errNotSynced
			},
		},
		"the informer does not sync for long": {
			happens: func(h *sourceHarness) {
				h.informer.synced = false
				h.proof.provenAt, h.proof.err = time.Time{}, errNotSynced
				_, _, _ = h.read(context.Background())
				h.clock.Step(syncGrace + time.Second)
			},
			want: "live", wantProven: syncGrace + time.Second,
		},
		"proven, but by a proof that began before the last live list": {
			happens: func(h *sourceHarness) {
				h.clock.Step(10 * time.Second)
				h.proof.err = errFrozen
				_, _, _ = h.read(context.Background())
				h.proof.provenAt, h.proof.err = testStart.Add(9*time.Second), nil
				h.clock.Step(time.Second)
				h.live.err = errTest // It does not list again.
			},
			want: "live", wantProven: 10 * time.Second,
		},
		"a failure after that": {
			happens: func(h *sourceHarness) {
				h.clock.Step(10 * time.Second)
				h.proof.err = errFrozen
				_, _, _ = h.read(context.Background())
				h.proof.provenAt = testStart.Add(9 * time.Second)
				h.clock.Step(maxProofAge)
			},
			want: "live", wantProven: 10*time.Second + maxProofAge,
		},
		"proven again after the last live list": {
			happens: func(h *sourceHarness) {
				h.proof.err = errFrozen
				_, _, _ = h.read(context.Background())
				h.clock.Step(10 * time.Second)
				h.proof.provenAt, h.proof.err = testStart.Add(9*time.Second), nil
			},
			want: "stored", wantProven: 9 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSourceHarness(t)
			tc.happens(h)
			pods, provenAt, err := h.read(t.Context())
			if tc.want == "" {
				if err == nil {
					t.Fatalf("It reads %d pods", len(pods.objects))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.want}, podNames(pods.objects)); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if got := provenAt.Sub(testStart); got != tc.wantProven {
				t.Errorf("proven %s after the start, want %s", got, tc.wantProven)
			}
		})
	}
}

// TestP7WhatHasNotChangedIsNotReadAgain: the store's version tells.
func TestP7WhatHasNotChangedIsNotReadAgain(t *testing.T) {
	h := newSourceHarness(t)
	read := func() *reading[*corev1.Pod] {
		t.Helper()
		pods, _, err := h.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return pods
	}
	at := func(version string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.ResourceVersion = version }
	}
	first := read()
	if read() != first {
		t.Error("Nothing has changed, yet the store is read again")
	}
	for _, change := range []struct {
		name string
		make func() error
		want []string
	}{
		{"a pod that changes", func() error { return h.informer.store.Update(testPod("prod-shop", "stored", at("2"))) }, []string{"stored"}},
		{"a pod that comes", func() error { return h.informer.store.Add(testPod("prod-shop", "new", at("3"))) }, []string{"new", "stored"}},
		{"a pod that goes", func() error { return h.informer.store.Delete(testPod("prod-shop", "stored", at("4"))) }, []string{"new"}},
		{"a new list", func() error { return h.informer.store.Replace([]any{testPod("prod-shop", "listed")}, "5") }, []string{"listed"}},
	} {
		before := read()
		if err := change.make(); err != nil {
			t.Fatal(err)
		}
		after := read()
		if after == before {
			t.Errorf("The store is not read again after %s", change.name)
		}
		names := podNames(after.objects)
		slices.Sort(names)
		if diff := cmp.Diff(change.want, names); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", change.name, diff)
		}
	}

	// What is listed live in between is something else, each time.
	h.proof.err = errFrozen
	live := read()
	if again := read(); again == live || live.objects[0].Name != "live" {
		t.Errorf("The live list is %v", podNames(live.objects))
	}
	// Meanwhile etcd was restored, and its new history has come to the old version.
	if err := h.informer.store.Replace([]any{testPod("prod-shop", "restored")}, "5"); err != nil {
		t.Fatal(err)
	}
	h.clock.Step(time.Second)
	h.proof.provenAt, h.proof.err = h.clock.Now(), nil
	if names := podNames(read().objects); !slices.Equal(names, []string{"restored"}) {
		t.Errorf("After the live list %v are read", names)
	}
}

func TestCaseH05ObjectsThatGoWithTheirKindAreNotReportedAsGone(t *testing.T) {
	h := newSourceHarness(t)
	served := error(nil)
	confirmations := 0
	h.confirmLoss = func(context.Context) error {
		confirmations++
		return served
	}
	read := func() error {
		_, _, err := h.read(t.Context())
		return err
	}
	if err := read(); err != nil || confirmations != 1 {
		t.Fatalf("What was there before the first read is not known, yet it asks %d times: %v", confirmations, err)
	}
	if err := read(); err != nil || confirmations != 1 {
		t.Fatalf("Nothing is lost, yet it asks %d times: %v", confirmations, err)
	}

	// The definition is being deleted, and the objects with it.
	served = errNotServed
	gone := testPod("prod-shop", "stored", func(p *corev1.Pod) { p.ResourceVersion = "2" })
	if err := h.informer.store.Delete(gone); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := read(); !errors.Is(err, errNotServed) {
			t.Errorf("error = %v, want %v", err, errNotServed)
		}
	}

	// The definition is there again, the objects are not.
	served = nil
	if err := read(); err != nil {
		t.Error(err)
	}
	confirmations = 0
	if err := read(); err != nil || confirmations != 0 {
		t.Errorf("The loss is known, yet it asks %d times: %v", confirmations, err)
	}
}

// TestCaseH05AnAgentThatStartsWhileTheKindGoesTellsOfNoLoss: the one before it may
// have reported what is gone by now.
func TestCaseH05AnAgentThatStartsWhileTheKindGoesTellsOfNoLoss(t *testing.T) {
	h := newSourceHarness(t)
	h.confirmLoss = func(context.Context) error { return errNotServed }
	for range 2 {
		if _, _, err := h.read(t.Context()); !errors.Is(err, errNotServed) {
			t.Errorf("error = %v, want %v", err, errNotServed)
		}
	}
}

func TestAnInformerWithoutASingleStoreIsAClearError(t *testing.T) {
	store := &informerStore{informers: storelessInformers{}}
	if _, err := store.get(t.Context()); err == nil {
		t.Error("There is no error")
	}
}

// storelessInformers has an informer as a cache of some namespaces has.
type storelessInformers struct{ cache.Informers }

func (storelessInformers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return storelessInformer{}, nil
}

type storelessInformer struct{ cache.Informer }

func (storelessInformer) HasSynced() bool { return true }

func podNames(pods []*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// TestP5ALiveListThatFailedSlowlyIsNotBegunAgainAtOnce: the API server may be slow for
// having too much to do.
func TestP5ALiveListThatFailedSlowlyIsNotBegunAgainAtOnce(t *testing.T) {
	h := newSourceHarness(t)
	h.proof.err = errFrozen
	h.live.err = errTest
	h.live.takes = func() { h.clock.Step(20 * time.Second) }
	for _, step := range []struct {
		after     time.Duration
		wantLists int
	}{{0, 1}, {0, 1}, {19 * time.Second, 1}, {time.Second, 2}} {
		h.clock.Step(step.after)
		if _, _, err := h.read(t.Context()); !errors.Is(err, errTest) {
			t.Errorf("error = %v", err)
		}
		if h.live.lists != step.wantLists {
			t.Errorf("%s later it has listed %d times, want %d", step.after, h.live.lists, step.wantLists)
		}
	}
	// One that fails at once costs nothing.
	h.clock.Step(20 * time.Second)
	h.live.takes = nil
	for range 2 {
		if _, _, err := h.read(t.Context()); !errors.Is(err, errTest) {
			t.Errorf("error = %v", err)
		}
	}
	if h.live.lists != 4 {
		t.Errorf("It has listed %d times, want 4", h.live.lists)
	}
}
