// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

// fakeProber is an API server and an informer beside it.
type fakeProber struct {
	clock *clocktesting.FakeClock
	// current is the version of the API server, events those of all changes. lag
	// is how far its watch cache is behind that.
	current  int
	lag      int
	events   []int
	listErr  error
	watchErr error
	// stored is the version of the informer; storedAfter what it gets to when it
	// is looked at for the nth time.
	stored      int
	storedAfter map[int]int
	storeErr    error
	looked      int
	cuts        int
}

func (f *fakeProber) currentVersion(context.Context) (string, error) {
	return strconv.Itoa(f.current), f.listErr
}

func (f *fakeProber) hasReached(_ context.Context, version string) error {
	if version != strconv.Itoa(f.current-f.lag) {
		return errBehind
	}
	return nil
}

func (f *fakeProber) eventsSince(_ context.Context, since string, seen func(string) bool) error {
	after, err := strconv.Atoi(since)
	if err != nil {
		return err
	}
	for _, event := range f.events {
		if event > after && !seen(strconv.Itoa(event)) {
			return nil
		}
	}
	return f.watchErr
}

func (f *fakeProber) cut() { f.cuts++ }

func (f *fakeProber) version(context.Context) (string, error) {
	f.looked++
	if version, ok := f.storedAfter[f.looked]; ok {
		f.stored = version
	}
	if f.looked > 1 {
		f.clock.Step(storePoll)
	}
	return strconv.Itoa(f.stored), f.storeErr
}

func TestP2ProvesOnlyAStoreThatHoldsWhatTheAPIServerHas(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old resource version")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errTest)
	for name, tc := range map[string]struct {
		probe     fakeProber
		want      string
		wantStale bool
	}{
		"nothing happened since the informer's last event": {
			probe: fakeProber{current: 900, events: []int{100, 200}, stored: 200},
			want:  "proven",
		},
		"what happened is already stored": {
			probe: fakeProber{current: 900, events: []int{300}, stored: 200, storedAfter: map[int]int{2: 300}},
			want:  "proven",
		},
		"the informer gets to it within the grace": {
			probe: fakeProber{current: 900, events: []int{300, 400}, stored: 200, storedAfter: map[int]int{3: 300, 9: 400}},
			want:  "proven",
		},
		"the informer does not get to it (case B03)": {
			probe: fakeProber{current: 900, events: []int{300}, stored: 200},
			want:  "frozen", wantStale: true,
		},
		"the informer gets to a part of it": {
			probe: fakeProber{current: 900, events: []int{300, 400}, stored: 200, storedAfter: map[int]int{2: 300}},
			want:  "frozen", wantStale: true,
		},
		"what happens after the proof began is not waited for": {
			probe: fakeProber{current: 900, events: []int{901, 902}, stored: 200},
			want:  "proven",
		},
		"what happened before counts even when more happens after": {
			probe: fakeProber{current: 900, events: []int{300, 901}, stored: 200},
			want:  "frozen", wantStale: true,
		},
		"the API server's watches are fed from an older state than its reads": {
			probe: fakeProber{current: 900, lag: 700, stored: 200},
			want:  "behind", wantStale: true,
		},
		"the API server or its etcd is away": {
			probe: fakeProber{current: 900, stored: 200, listErr: errTest},
			want:  "unreachable",
		},
		"the watch breaks before its time": {
			probe: fakeProber{current: 900, stored: 200, watchErr: errCutShort},
			want:  "unreachable",
		},
		"the watch breaks after it has told of something that is missing": {
			probe: fakeProber{current: 900, events: []int{300}, stored: 200, watchErr: errCutShort},
			want:  "frozen", wantStale: true,
		},
		"the watch breaks after it has told of something that is stored": {
			probe: fakeProber{current: 900, events: []int{300}, stored: 200, storedAfter: map[int]int{2: 300}, watchErr: errCutShort},
			want:  "unreachable",
		},
		"the API server has forgotten the informer's version, with a cold watch cache": {
			probe: fakeProber{current: 900, stored: 200, watchErr: expired},
			want:  "expired", wantStale: true,
		},
		"the API server's etcd was restored to an earlier state": {
			probe: fakeProber{current: 150, stored: 200},
			want:  "other_history", wantStale: true,
		},
		"the informer has not synced (case B01)": {
			probe: fakeProber{current: 900, storeErr: errNotSynced},
			want:  "not_synced",
		},
		"the right to list is missing, so that the informer cannot sync (case H02)": {
			probe: fakeProber{listErr: forbidden, storeErr: errNotSynced},
			want:  "forbidden",
		},
		"the kind is not known": {
			probe: fakeProber{listErr: apierrors.NewNotFound(schema.GroupResource{Resource: "styrmindeployments"}, ""), storeErr: errTest},
			want:  "not_found",
		},
	} {
		t.Run(name, func(t *testing.T) {
			probe := tc.probe
			probe.clock = clocktesting.NewFakeClock(testStart)
			err := newProver(autoClock{probe.clock}, &probe, probe.version, func(error) {}).prove(t.Context())
			if got := proofResult(err); got != tc.want {
				t.Errorf("result of %v is %q, want %q", err, got, tc.want)
			}
			if got := isStale(err); got != tc.wantStale {
				t.Errorf("isStale(%v) = %t, want %t", err, got, tc.wantStale)
			}
		})
	}
}

// autoClock is a fake clock whose waits are over at once.
type autoClock struct{ *clocktesting.FakeClock }

func (c autoClock) After(d time.Duration) <-chan time.Time {
	c.Step(d)
	over := make(chan time.Time, 1)
	over <- c.Now()
	return over
}

func TestP2TheProvenTimeIsWhenTheProofBegan(t *testing.T) {
	clock := clocktesting.NewFakeClock(testStart)
	probe := &fakeProber{clock: clock, current: 900, events: []int{300}, stored: 200, storedAfter: map[int]int{5: 300}}
	p := newProver(autoClock{clock}, probe, probe.version, func(error) {})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	provenAt, err := p.state(t.Context())
	if err != nil || !provenAt.Equal(testStart) {
		t.Errorf("state = %s, %v, want %s", provenAt, err, testStart)
	}
	cancel()
	<-done
	if probe.cuts == 0 {
		t.Error("The connections stay open after the end")
	}
}

func TestP2AProofThatFailedKeepsTheTimeOfTheLastThatDidNot(t *testing.T) {
	clock := clocktesting.NewFakeClock(testStart)
	p := newProver(clock, nil, nil, func(error) {})
	p.record(testStart, nil)
	p.record(testStart.Add(time.Minute), errTest)
	provenAt, err := p.state(t.Context())
	if !provenAt.Equal(testStart) || !errors.Is(err, errTest) {
		t.Errorf("state = %s, %v", provenAt, err)
	}
}

func TestP2ReadingDoesNotOutliveItsContext(t *testing.T) {
	p := newProver(clocktesting.NewFakeClock(testStart), nil, nil, func(error) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.state(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

func TestP2AGoneStatusIsStaleHoweverItComes(t *testing.T) {
	// Over HTTP the code is 410 with the reason Expired or Gone.
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonExpired, metav1.StatusReasonGone} {
		err := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: reason}}
		if !isStale(err) {
			t.Errorf("%s is not stale", reason)
		}
	}
}

func TestP2ProofsFollowEachOtherWithinTenSeconds(t *testing.T) {
	// A proof lasts as long as its watch and the informer's grace, at most.
	if longest := max(proofInterval, probeWatch+storeGrace); longest > 10*time.Second {
		t.Errorf("Two proofs begin %s after each other", longest)
	}
	clock := clocktesting.NewFakeClock(testStart)
	probe := &fakeProber{clock: clock, current: 900, stored: 900}
	made := make(chan error, 1)
	p := newProver(clock, probe, func(context.Context) (string, error) { return "900", nil }, func(err error) { made <- err })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	for _, fails := range []bool{false, true, false} {
		if err := <-made; (err != nil) != fails {
			t.Fatalf("error = %v, want one: %t", err, fails)
		}
		eventually(t, "it waits for the next proof", clock.HasWaiters)
		probe.listErr = nil
		pause := failedProofInterval
		if !fails {
			probe.listErr, pause = errTest, proofInterval
		}
		clock.Step(pause)
	}
	if err := <-made; err == nil {
		t.Error("The proof that the last step began has not failed")
	}
	cancel()
	<-done
}
