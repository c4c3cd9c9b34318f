// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// look is what one look of a wait meets: the task's result and the deployment's
// status, or what stands in for the answer.
type look struct {
	result TaskResult
	status DeploymentStatus
	// reason and message are the task's.
	reason, message string
	// failing answers instead of the task, failingLater instead of the deployment.
	failing, failingLater func() (int, string, error)
}

func networkDown() (int, string, error) { return 0, "", errConnectionReset }
func badGateway() (int, string, error)  { return http.StatusBadGateway, "<html>502</html>", nil }
func html() (int, string, error)        { return http.StatusOK, "<html>hello</html>", nil }
func truncated() (int, string, error)   { return http.StatusOK, `{"data": {"task": {"id`, nil }
func withoutCode() (int, string, error) {
	return http.StatusOK, `{"data": null, "errors": [{"message": "?"}]}`, nil
}
func refusing(code string) func() (int, string, error) {
	return func() (int, string, error) {
		return http.StatusOK, `{"data": null, "errors": [{"message": "no", "extensions": {"code": "` + code + `"}}]}`, nil
	}
}

// waitsFor plays looks, the last one for ever, and counts them.
func waitsFor(t *testing.T, kind TaskKind, looks []look) (layer answers, looked *int) {
	looked = new(int)
	current := func() look { return looks[min(*looked, len(looks))-1] }
	return func(r request) (int, string, error) {
		if r.OperationName == "getTask" {
			*looked++
			if l := current(); l.failing != nil {
				return l.failing()
			}
			return http.StatusOK, data(t, map[string]any{"task": map[string]any{
				"id": r.Variables["id"], "deploymentId": "d-1", "kind": kind, "result": current().result,
				"failureReason": current().reason, "message": current().message,
			}}), nil
		}
		if l := current(); l.failingLater != nil {
			return l.failingLater()
		}
		return http.StatusOK, data(t, map[string]any{"deployment": map[string]any{
			"id": r.Variables["id"], "status": current().status,
		}}), nil
	}, looked
}

func TestWaitForTaskEndsAsThePageSays(t *testing.T) {
	for name, test := range map[string]struct {
		kind    TaskKind
		looks   []look
		options []WaitOption
		// want is the failure reason; empty: it succeeded.
		want         string
		wantTimedOut bool
		wantLooks    int
		wantWaited   time.Duration
	}{
		"G01: running from before the change is not its end": {
			kind: TaskStopComponents,
			looks: []look{
				{result: ResultRunning, status: StatusRunning}, {result: ResultRunning, status: StatusRunning},
				{result: ResultRunning, status: StatusDeploying}, {result: ResultRunning, status: StatusDeploying},
				{result: ResultSucceeded, status: StatusDeploying}, {result: ResultSucceeded, status: StatusRunning},
			},
			wantLooks: 6, wantWaited: 50 * time.Second,
		},
		"G01: no wait at all still looks once": {
			looks:   []look{{result: ResultSucceeded, status: StatusRunning}},
			options: []WaitOption{MaxWait(0)}, wantLooks: 1,
		},
		"G01: no wait at all ends after one look": {
			looks:   []look{{result: ResultRunning, status: StatusRunning}},
			options: []WaitOption{MaxWait(0)}, wantLooks: 1, want: "wait timeout", wantTimedOut: true,
		},
		"a deletion ends when the deployment is deleted": {
			kind:      TaskDelete,
			looks:     []look{{result: ResultRunning, status: StatusDeleting}, {result: ResultSucceeded, status: StatusDeleted}},
			wantLooks: 2, wantWaited: 10 * time.Second,
		},
		"a failed step": {
			looks:     []look{{result: ResultFailed, status: StatusFailed, reason: `step "Run job migrate" failed: exit code 1`}},
			wantLooks: 1, want: `step "Run job migrate" failed: exit code 1`,
		},
		"a failed flow": {
			looks:     []look{{result: ResultFailed, status: StatusDeploying, reason: "task t-1 failed: worker lost"}},
			wantLooks: 1, want: "task t-1 failed: worker lost",
		},
		"a later task": {
			looks:     []look{{result: ResultSuperseded, reason: "task t-1 was superseded by a later task of the deployment"}},
			wantLooks: 1, want: "task t-1 was superseded by a later task of the deployment",
		},
		"a server that gives no reason for a failure, but a message": {
			looks:     []look{{result: ResultFailed, message: "no access"}},
			wantLooks: 1, want: "task t-1 failed: no access",
		},
		"a server that gives nothing for a failure": {
			looks: []look{{result: ResultFailed}}, wantLooks: 1, want: "task t-1 failed: no reason was given",
		},
		"a server that gives no reason for a superseded task": {
			looks:     []look{{result: ResultSuperseded}},
			wantLooks: 1, want: "task t-1 was superseded by a later task of the deployment",
		},
		"a result that this client does not know is none that succeeded": {
			looks:     []look{{result: "ABANDONED", reason: "task t-1 failed: abandoned"}},
			wantLooks: 1, want: "task t-1 failed: abandoned",
		},
		"the deployment fails after the task": {
			looks:     []look{{result: ResultSucceeded, status: StatusDeploying}, {result: ResultSucceeded, status: StatusFailed}},
			wantLooks: 2, wantWaited: 10 * time.Second, want: "deployment status is failed, expected running",
		},
		"the deployment is deleted after the task": {
			looks:     []look{{result: ResultSucceeded, status: StatusDeleted}},
			wantLooks: 1, want: "deployment status is deleted, expected running",
		},
		"the deployment runs after its deletion": {
			kind: TaskDelete, looks: []look{{result: ResultSucceeded, status: StatusRunning}},
			wantLooks: 1, want: "deployment status is running, expected deleted",
		},
		"a task that does not end in ten minutes": {
			looks:     []look{{result: ResultRunning, status: StatusDeploying}},
			wantLooks: 61, wantWaited: 600 * time.Second, want: "wait timeout", wantTimedOut: true,
		},
		"a deployment that does not run in the time that the caller has": {
			looks:     []look{{result: ResultSucceeded, status: StatusDeploying}},
			options:   []WaitOption{MaxWait(25 * time.Second)},
			wantLooks: 4, wantWaited: 25 * time.Second, want: "wait timeout", wantTimedOut: true,
		},
		"the last look is at the very end": {
			looks: []look{
				{result: ResultRunning}, {result: ResultRunning}, {result: ResultSucceeded, status: StatusRunning},
			},
			options:   []WaitOption{MaxWait(4 * time.Second), Interval(3 * time.Second)},
			wantLooks: 3, wantWaited: 4 * time.Second,
		},
		"what passes is waited out": {
			looks: []look{
				{failing: networkDown}, {failing: badGateway}, {failing: html}, {failing: truncated}, {failing: withoutCode},
				{failing: refusing("INTERNAL")},
				{result: ResultSucceeded, failingLater: networkDown}, {result: ResultSucceeded, status: StatusRunning},
			},
			wantLooks: 8, wantWaited: 70 * time.Second,
		},
		"a failure is told though the deployment cannot be read": {
			looks:     []look{{result: ResultFailed, reason: "task t-1 failed: x", failingLater: badGateway}},
			wantLooks: 1, want: "task t-1 failed: x",
		},
		"a server that stays away": {
			looks:   []look{{failing: networkDown}},
			options: []WaitOption{MaxWait(30 * time.Second)}, wantLooks: 4, wantWaited: 30 * time.Second,
			want: "wait timeout", wantTimedOut: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			layer, looked := waitsFor(t, test.kind, test.looks)
			client, clock := fakeClient(t, layer)
			began := clock.time
			waited, err := client.Deployments.WaitForTask(t.Context(), "t-1", test.options...)
			if err != nil {
				t.Fatal(err)
			}
			got := *waited
			got.Task, got.Deployment = nil, nil
			want := Waited{Succeeded: test.want == "", FailureReason: test.want, TimedOut: test.wantTimedOut}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the outcome (-want +got):\n%s", diff)
			}
			if *looked != test.wantLooks || clock.time.Sub(began) != test.wantWaited {
				t.Errorf("it looked %d times in %s, want %d in %s", *looked, clock.time.Sub(began), test.wantLooks, test.wantWaited)
			}
		})
	}
}

func TestWaitForTaskEndsWithAnErrorThatNoFurtherLookCouldChange(t *testing.T) {
	for name, test := range map[string]struct {
		looks []look
		want  error
	}{
		"the token was revoked":             {[]look{{result: ResultRunning}, {failing: refusing("UNAUTHENTICATED")}}, ErrUnauthenticated},
		"the token does not allow it":       {[]look{{failing: refusing("FORBIDDEN")}}, ErrForbidden},
		"the deployment cannot be read":     {[]look{{result: ResultRunning, failingLater: refusing("FORBIDDEN")}}, ErrForbidden},
		"the server does not know the call": {[]look{{failing: refusing("INVALID_INPUT")}}, ErrInvalidInput},
		"there is no such task": {[]look{{failing: func() (int, string, error) {
			return http.StatusOK, `{"data": {"task": null}}`, nil
		}}}, ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			layer, looked := waitsFor(t, TaskScale, test.looks)
			client, _ := fakeClient(t, layer)
			waited, err := client.Deployments.WaitForTask(t.Context(), "t-1")
			if !errors.Is(err, test.want) || waited != nil {
				t.Errorf("got %v, %v, want %v", waited, err, test.want)
			}
			if *looked != len(test.looks) {
				t.Errorf("it looked %d times, want %d", *looked, len(test.looks))
			}
		})
	}
}

// TestATokenThatIsBeingReplacedDoesNotEndAWait has a source that fails for a moment.
// One that has never worked will not work at the next look.
func TestATokenThatIsBeingReplacedDoesNotEndAWait(t *testing.T) {
	errEmpty := errors.New("the file is empty")
	for name, test := range map[string]struct {
		// without are the calls, from the first, for which there is no token.
		without    map[int]bool
		wantLooks  int
		wantMissed int
		wantErr    error
	}{
		"between two looks":       {map[int]bool{3: true}, 2, 1, nil},
		"in the middle of a look": {map[int]bool{2: true}, 2, 1, nil},
		"from the beginning":      {map[int]bool{1: true}, 0, 0, errEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			layer, looked := waitsFor(t, TaskScale, []look{
				{result: ResultRunning, status: StatusDeploying}, {result: ResultSucceeded, status: StatusRunning},
			})
			calls, missed := 0, 0
			client, _ := fakeClient(t, layer, WithTokenSource(func() (string, error) {
				if calls++; test.without[calls] {
					return "", errEmpty
				}
				return "styrmin_secret", nil
			}))
			waited, err := client.Deployments.WaitForTask(t.Context(), "t-1", OnProgress(func(p Progress) {
				if errors.Is(p.Err, ErrNoToken) && errors.Is(p.Err, errEmpty) {
					missed++
				}
			}))
			if !errors.Is(err, test.wantErr) || err == nil && !waited.Succeeded {
				t.Errorf("got %+v, %v, want %v", waited, err, test.wantErr)
			}
			if *looked != test.wantLooks || missed != test.wantMissed {
				t.Errorf("it read the task %d times and missed a token %d times, want %d and %d", *looked, missed, test.wantLooks, test.wantMissed)
			}
		})
	}
}

func TestWaitForTaskEndsWithItsContext(t *testing.T) {
	layer, _ := waitsFor(t, TaskScale, []look{{result: ResultRunning}})
	client, _ := fakeClient(t, layer)
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	_, err := client.Deployments.WaitForTask(ctx, "t-1", OnProgress(func(Progress) {
		if looks++; looks == 3 {
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) || looks != 3 {
		t.Errorf("after %d looks: %v", looks, err)
	}
}

// TestAServerThatHangsDoesNotHoldAWait has a server that takes every call and
// answers none.
func TestAServerThatHangsDoesNotHoldAWait(t *testing.T) {
	for name, test := range map[string]struct{ maxWait, want time.Duration }{
		"a wait that ends before the try": {12 * time.Second, 12 * time.Second},
		"no wait at all":                  {0, leastLook},
		// A try of 15 s, a pause of 10 s, twice, and a last look in what is left.
		"a long wait": {time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := New("https://styrmin.example", WithHTTPClient(&http.Client{Transport: roundTripper(
					func(r *http.Request) (*http.Response, error) {
						<-r.Context().Done()
						return nil, r.Context().Err()
					})}))
				if err != nil {
					t.Fatal(err)
				}
				began, unavailable := time.Now(), 0
				waited, err := client.Deployments.WaitForTask(t.Context(), "t-1", MaxWait(test.maxWait), OnProgress(func(p Progress) {
					if errors.Is(p.Err, ErrUnavailable) {
						unavailable++
					}
				}))
				if err != nil || !waited.TimedOut || unavailable == 0 {
					t.Errorf("after %d looks: %+v, %v", unavailable, waited, err)
				}
				if took := time.Since(began); took != test.want {
					t.Errorf("it took %s, want %s", took, test.want)
				}
			})
		})
	}
}

func TestWaitForTaskRefusesAnIntervalOfNothing(t *testing.T) {
	client, _ := fakeClient(t, nil)
	if _, err := client.Deployments.WaitForTask(t.Context(), "t-1", Interval(0)); err == nil {
		t.Error("it waited")
	}
}

func TestWaitForTaskTellsItsProgress(t *testing.T) {
	layer, _ := waitsFor(t, TaskScale, []look{
		{failing: networkDown}, {result: ResultRunning, failingLater: networkDown},
		{result: ResultRunning, status: StatusDeploying}, {failing: networkDown}, {result: ResultSucceeded, status: StatusRunning},
	})
	client, _ := fakeClient(t, layer)
	type told struct {
		Result TaskResult
		Status DeploymentStatus
		Failed bool
	}
	var got []told
	waited, err := client.Deployments.WaitForTask(t.Context(), "t-1", OnProgress(func(p Progress) {
		now := told{Failed: errors.Is(p.Err, ErrUnavailable)}
		if p.Task != nil {
			now.Result = p.Task.Result
		}
		if p.Deployment != nil {
			now.Status = p.Deployment.Status
		}
		got = append(got, now)
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []told{
		{Failed: true},
		{Result: ResultRunning, Failed: true},
		{Result: ResultRunning, Status: StatusDeploying},
		{Result: ResultRunning, Status: StatusDeploying, Failed: true}, // the last known, beside the error
		{Result: ResultSucceeded, Status: StatusRunning},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the progress (-want +got):\n%s", diff)
	}
	if waited.Task.Result != ResultSucceeded || waited.Deployment.Status != StatusRunning {
		t.Errorf("the outcome has task %+v and deployment %+v", waited.Task, waited.Deployment)
	}
}
