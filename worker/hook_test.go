// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// history watches what is written to the shop's StyrminDeployment: version, and
// whether the server component is to run. The returned function ends that.
func (s *stage) history() func() []string {
	s.Helper()
	version := func(object *styrminv1.StyrminDeployment) int64 {
		number, err := strconv.ParseInt(object.ResourceVersion, 10, 64)
		if err != nil {
			s.Error(err)
		}
		return number
	}
	// A watch begins with what its cache has, which may be older.
	began := version(s.object())
	ctx, cancel := context.WithCancel(s.Context())
	watcher, err := s.cluster.Watch(ctx, &styrminv1.StyrminDeploymentList{}, client.InNamespace("styrmin"),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", s.key().Name)})
	if err != nil {
		s.Fatal(err)
	}
	var written []string
	var seen atomic.Int64
	var gone atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			if object, ok := event.Object.(*styrminv1.StyrminDeployment); ok && version(object) >= began {
				seen.Store(version(object))
				gone.Store(event.Type == watch.Deleted)
				written = append(written, fmt.Sprintf("%s running: %t", object.Spec.Version, object.Spec.Components[0].IsRunning()))
			}
		}
	}()
	return func() []string {
		s.eventually("the watch has seen the last write", func() error {
			now := s.object()
			if (now == nil && !gone.Load()) || (now != nil && seen.Load() < version(now)) {
				return fmt.Errorf("it has seen %d", seen.Load())
			}
			return nil
		})
		cancel()
		watcher.Stop()
		<-done
		return written
	}
}

// read reads one status.
func (s *stage) read(ctx context.Context, query, id string) (string, error) {
	data, err := ask(ctx, suite.server.adminToken, `query ($id: ID!) { of: `+query+` }`, map[string]any{"id": id})
	if err != nil {
		return "", err
	}
	of, found := data["of"].(map[string]any)
	if !found {
		return "", fmt.Errorf("there is none: %s", query)
	}
	return of["status"].(string), nil
}

// neverRunning watches that the deployment is not RUNNING while the flow of a task
// goes on, until the returned function is called.
func (s *stage) neverRunning(task string) func() {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		begun := false
		for ctx.Err() == nil {
			// The status first: had the flow ended between the two, that would be well.
			status, err := s.read(ctx, `deployment(id: $id) { status }`, s.deployment)
			if err != nil {
				continue
			}
			flow, err := s.read(ctx, `task(id: $id) { status }`, task)
			if err != nil {
				continue
			}
			// Until its first write is recorded the deployment runs as before.
			begun = begun || status != "RUNNING"
			if begun && flow == "RUNNING" && status == "RUNNING" {
				s.Error("the deployment is RUNNING in the middle of the upgrade")
				return
			}
			time.Sleep(30 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

func TestW1W5AnUpgradeRunsItsHooksAsTasksOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startWorker()
	s.running(shopSpec("2.4.0"))
	written := s.history()
	task := s.upgrade("2.5.0")
	watched := s.neverRunning(task)
	view := s.wantResult(task, "SUCCEEDED", "")
	watched()
	s.wantStatus("RUNNING")
	if diff := cmp.Diff([]string{"2.4.0 running: true", "2.4.0 running: false", "2.5.0 running: false", "2.5.0 running: true"}, written()); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
	for _, step := range view.Steps {
		if step.Kind == "HOOK" && (len(step.Tasks) != 1 || step.Tasks[0].Result != "SUCCEEDED") {
			t.Errorf("step %q started %+v", step.Name, step.Tasks)
		}
	}
}

func TestW1AHookThatFailsEndsTheUpgradeBeforeItsWrite(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startWorker()
	s.running(shopSpec("2.4.0"))
	s.operator(func() { s.failure = "no pod stops" })
	task := s.upgrade("2.5.0")
	view := s.wantResult(task, "FAILED", `step "Create network policies and secrets" failed: no pod stops`)
	if step := view.Steps[0]; step.Status != "FAILED" || step.Error != view.FailureReason {
		t.Errorf("the hook step is %+v", step)
	}
	if version := s.object().Spec.Version; version != "2.4.0" {
		t.Errorf("version %s was written although the hook failed", version)
	}
}

func TestW1PostHooksDoNotFollowARolloutThatFailed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startWorker()
	spec := shopSpec("2.4.0")
	delete(spec["hooks"].(map[string]any)["upgrade"].(map[string]any), "pre")
	s.running(spec)
	s.operator(func() { s.failure = "no such image" })
	view := s.wantResult(s.upgrade("2.5.0"), "FAILED", `step "Create network policies and secrets" failed: no such image`)
	last := view.Steps[len(view.Steps)-1]
	if last.Kind != "HOOK" || last.Status != "CANCELLED" || len(last.Tasks) > 0 {
		t.Errorf("the post hook is %+v", last)
	}
}

// TestW1HookTasksAlwaysFindAPlace: each upgrade holds the only place and waits for
// a task of its own.
func TestW1HookTasksAlwaysFindAPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.startWorker(func(_ *hands, o *Options) { o.Flows = 1 })
	names := []string{"shop", "blog", "wiki"}
	deployments := map[string]string{}
	for _, name := range names {
		task, deployment := s.createNamed(name, shopSpec("2.4.0"))
		deployments[name] = deployment
		s.wantResult(task, "SUCCEEDED", "")
	}
	upgrades := make([]string, 0, len(names))
	for _, name := range names {
		s.deployment = deployments[name]
		upgrades = append(upgrades, s.upgrade("2.5.0"))
	}
	for _, task := range upgrades {
		s.wantResult(task, "SUCCEEDED", "")
	}
	s.eventually("no flow runs any more", func() error {
		if !h.flows.hasRoom() {
			return fmt.Errorf("%d flows", h.flows.ordinary)
		}
		return nil
	})
}

func TestW1AHookStepIsTheOneOfItsPlaceInTheSpec(t *testing.T) {
	const spec = `{"hooks": {"upgrade": {
		"pre": [{"stopComponents": ["a", "b"]}, {"runJob": "backup"}], "post": [{"startComponents": ["a"]}, {}]}}}`
	task := &TaskFields{Steps: []StepFields{
		{Id: "pre-0", Kind: StepKindHook}, {Id: "pre-1", Kind: StepKindHook}, {Id: "pre-2", Kind: StepKindHook},
		{Id: "write", Kind: StepKindFlow}, {Id: "ready", Kind: StepKindOperatorPhase},
		{Id: "post-0", Kind: StepKindHook}, {Id: "post-1", Kind: StepKindHook},
	}}
	backup := "backup"
	for step, test := range map[string]struct {
		want    HookTaskInput
		wantErr string
	}{
		"pre-0":  {want: HookTaskInput{Action: HookActionStopComponents, Components: []string{"a", "b"}}},
		"pre-1":  {want: HookTaskInput{Action: HookActionRunJob, Job: &backup}},
		"pre-2":  {wantErr: "the deployment's spec has no hook upgrade.pre[2] any more"},
		"post-0": {want: HookTaskInput{Action: HookActionStartComponents, Components: []string{"a"}}},
		"post-1": {wantErr: "the hook upgrade.post[1] says nothing that this version of the agent can do"},
	} {
		t.Run(step, func(t *testing.T) {
			got, err := hookInput(task, step, []byte(spec))
			if text := errorText(err); text != test.wantErr {
				t.Errorf("error %q, want %q", text, test.wantErr)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
