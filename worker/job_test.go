// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// target makes the deployment's namespace, as the operator does.
func (s *stage) target(owner string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.targetName(), Labels: map[string]string{styrminv1.LabelDeploymentID: owner},
	}}
	if err := s.cluster.Create(s.Context(), namespace); err != nil {
		s.Fatal(err)
	}
}

// targetName is the namespace that the shop's object leads to, or will lead to.
func (s *stage) targetName() string {
	s.Helper()
	if object := s.object(); object != nil {
		return object.TargetNamespace()
	}
	object := &styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Name: s.key().Name}}
	object.Spec.Environment = s.environment
	return object.TargetNamespace()
}

// job waits for the Job of a task.
func (s *stage) job(task string) *batchv1.Job {
	s.Helper()
	job := &batchv1.Job{}
	s.eventually("the Job exists", func() error {
		return s.cluster.Get(s.Context(), client.ObjectKey{Namespace: s.targetName(), Name: jobName("migrate", task)}, job)
	})
	return job
}

// complete ends a Job well, as the Job controller does.
func (s *stage) complete(job *batchv1.Job) {
	s.Helper()
	now := metav1.Now()
	job.Status = batchv1.JobStatus{
		StartTime: &now, CompletionTime: &now, Succeeded: 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
		Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now},
		},
	}
	if err := s.cluster.Status().Update(s.Context(), job); err != nil {
		s.Fatal(err)
	}
}

// fail ends a Job as failed, as the Job controller does, with a pod that says why.
func (s *stage) fail(job *batchv1.Job) {
	s.Helper()
	now := metav1.Now()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name + "-x1", Labels: map[string]string{batchv1.JobNameLabel: job.Name}},
		Spec:       job.Spec.Template.Spec,
	}
	if err := s.cluster.Create(s.Context(), pod); err != nil {
		s.Fatal(err)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "migrate", Image: "registry.example/migrate:1",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 3, Reason: "Error", Message: "connecting to the database\nno route to host\n", FinishedAt: now,
		}},
	}}}
	if err := s.cluster.Status().Update(s.Context(), pod); err != nil {
		s.Fatal(err)
	}
	job.Status = batchv1.JobStatus{
		StartTime: &now, Failed: 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
		Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now},
			{
				Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now,
				Reason: batchv1.JobReasonBackoffLimitExceeded, Message: "Job has reached the specified backoff limit",
			},
		},
	}
	if err := s.cluster.Status().Update(s.Context(), job); err != nil {
		s.Fatal(err)
	}
}

func TestW1AJobRunsInTheDeploymentsNamespace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startWorker()
	s.running(shopSpec("2.4.0"))
	task := s.change(`runJob(deploymentId: $d, job: "migrate")`)
	s.eventually("the step waits for the namespace", func() error {
		if step := s.task(task).Steps[0]; step.Status != "RUNNING" {
			return errors.New(step.Status)
		}
		return nil
	})
	s.target(s.deployment)
	job := s.job(task)
	want := map[string]string{styrminv1.LabelDeploymentID: s.deployment, labelTaskID: task}
	for key, value := range want {
		if job.Labels[key] != value || job.Spec.Template.Labels[key] != value {
			t.Errorf("label %s is %q and %q, want %q", key, job.Labels[key], job.Spec.Template.Labels[key], value)
		}
	}
	if result := s.task(task).Result; result != "RUNNING" {
		t.Errorf("the task is %s before its job has ended", result)
	}
	s.complete(job)
	s.wantResult(task, "SUCCEEDED", "")
}

func TestW1AJobThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startWorker()
	s.running(shopSpec("2.4.0"))
	s.target(s.deployment)
	task := s.change(`runJob(deploymentId: $d, job: "migrate")`)
	job := s.job(task)
	s.fail(job)
	s.wantResult(task, "FAILED", fmt.Sprintf(`step "Run job migrate" failed: Job %s/%s failed: BackoffLimitExceeded: Job has reached the specified backoff limit; `+
		"pod %s-x1: container migrate: Error, exit code 3: connecting to the database\nno route to host", job.Namespace, job.Name, job.Name))
}

// TestW3AJobIsRunOnce: its worker is lost when the Job has been made, and the next
// one finds it.
func TestW3AJobIsRunOnce(t *testing.T) {
	t.Parallel()
	for sentence, crash := range map[string]func(*hands){
		"lost before it hears that the Job was made": func(h *hands) {
			h.after = func(call string) bool { return call == "k8s create" }
		},
		"lost while the Job runs, which ends meanwhile": func(*hands) {},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			creator := s.startWorker()
			s.running(shopSpec("2.4.0"))
			creator.stop()
			s.target(s.deployment)
			first := s.startWorker(briefly, func(h *hands, _ *Options) { crash(h) })
			task := s.change(`runJob(deploymentId: $d, job: "migrate")`)
			job := s.job(task)
			first.crash()
			<-first.done
			s.complete(job)
			second := s.startWorker()
			s.wantResult(task, "SUCCEEDED", "")
			if writes := second.writes(); len(writes) > 0 {
				t.Errorf("the next worker wrote %v", writes)
			}
		})
	}
}

func TestW1AJobIsLeftToItsOwner(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		prepare func(s *stage)
		meddle  func(s *stage, task string)
		want    string
	}{
		"in a namespace that is not the deployment's": {
			prepare: func(s *stage) { s.target("someone-else") },
			meddle:  func(*stage, string) {},
			want:    "was not made for this deployment; no job is run in it",
		},
		"when someone deletes it": {
			prepare: func(s *stage) { s.target(s.deployment) },
			meddle: func(s *stage, task string) {
				if err := s.cluster.Delete(s.Context(), s.job(task), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
					s.Fatal(err)
				}
			},
			want: "was deleted before its end was seen",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.startWorker()
			s.running(shopSpec("2.4.0"))
			test.prepare(s)
			task := s.change(`runJob(deploymentId: $d, job: "migrate")`)
			test.meddle(s, task)
			s.wantResult(task, "FAILED", test.want)
		})
	}
}

func TestW1AJobThatTheClusterRefusesFailsTheStep(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	s.target("d-" + s.environment)
	const spec = `{"environment": "ENV", "jobs": [
		{"name": "always", "template": {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}},
		{"name": "typo", "template": {"backofLimit": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}}}]}`
	for name, want := range map[string]string{
		"always": `spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`,
		"typo":   `unknown field "spec.backofLimit"`,
	} {
		job, err := jobObject(f.task, f.object, []byte(strings.ReplaceAll(spec, "ENV", s.environment)), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.ensureJob(t.Context(), job); err == nil || !isPermanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("job %s: error %v, want a permanent one with %q", name, err, want)
		}
	}
}

func TestW1AJobOfAnotherTaskIsLeftUntouched(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	s.target("d-" + s.environment)
	const spec = `{"environment": "ENV", "jobs": [
		{"name": "migrate", "template": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}}}]}`
	job, err := jobObject(f.task, f.object, []byte(strings.ReplaceAll(spec, "ENV", s.environment)), "migrate")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // The second time finds it.
		if err := f.ensureJob(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	f.id = "another"
	if err := f.ensureJob(t.Context(), job); err == nil || !isPermanent(err) || !strings.Contains(err.Error(), "is not this task's") {
		t.Errorf("error %v", err)
	}
}

func TestTheJobIsTheTemplateWithWhatTheWorkerNeeds(t *testing.T) {
	task := &TaskFields{Id: "t-1", DeploymentId: "d-1"}
	key := client.ObjectKey{Namespace: "styrmin", Name: "prod-shop"}
	const spec = `
environment: prod
targetNamespace: shops
jobs:
- name: plain
  template: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
- name: full
  template:
    suspend: true
    newerThanThisAgent: 1
    activeDeadlineSeconds: 7
    ttlSecondsAfterFinished: 1000000
    template:
      metadata: {labels: {app: a}}
      spec: {restartPolicy: Never, initContainers: [{name: i, image: b}], containers: [{name: a, image: b, terminationMessagePolicy: File}]}
`
	raw, err := yaml.YAMLToJSON([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"plain": `
apiVersion: batch/v1
kind: Job
metadata: {name: plain-0f0b3eb9a6dc2d7a, namespace: shops, labels: {styrmin.io/deployment-id: d-1, styrmin.io/task-id: t-1}}
spec:
  activeDeadlineSeconds: 3600
  ttlSecondsAfterFinished: 86400
  template:
    metadata: {labels: {styrmin.io/deployment-id: d-1, styrmin.io/task-id: t-1}}
    spec: {restartPolicy: Never, containers: [{name: a, image: b, terminationMessagePolicy: FallbackToLogsOnError}]}
`,
		"full": `
apiVersion: batch/v1
kind: Job
metadata: {name: full-0f0b3eb9a6dc2d7a, namespace: shops, labels: {styrmin.io/deployment-id: d-1, styrmin.io/task-id: t-1}}
spec:
  newerThanThisAgent: 1
  activeDeadlineSeconds: 7
  ttlSecondsAfterFinished: 1000000
  template:
    metadata: {labels: {app: a, styrmin.io/deployment-id: d-1, styrmin.io/task-id: t-1}}
    spec:
      restartPolicy: Never
      initContainers: [{name: i, image: b, terminationMessagePolicy: FallbackToLogsOnError}]
      containers: [{name: a, image: b, terminationMessagePolicy: File}]
`,
	} {
		t.Run(name, func(t *testing.T) {
			job, err := jobObject(task, key, raw, name)
			if err != nil {
				t.Fatal(err)
			}
			var got, wanted any
			encoded, err := yaml.Marshal(job.Object)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(yaml.Unmarshal(encoded, &got), yaml.Unmarshal([]byte(strings.ReplaceAll(want, "0f0b3eb9a6dc2d7a", jobName("", "t-1")[1:])), &wanted)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("Job (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := jobObject(task, key, raw, "gone"); errorText(err) != `the deployment's spec has no job "gone" any more` {
		t.Errorf("error %v", err)
	}
	if a, b := jobName("migrate", "t-1"), jobName("migrate", "t-2"); a == b || len(jobName(strings.Repeat("x", 40), "t-1")) > 63 {
		t.Errorf("names of Jobs: %s, %s", a, b)
	}
}

func TestTheTroubleOfAJobsPodsIsTold(t *testing.T) {
	at := func(minute int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 11, 29, 12, minute, 0, 0, time.UTC))
	}
	pod := func(name string, minute int, containers ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at(minute)}, Status: corev1.PodStatus{ContainerStatuses: containers}}
	}
	ended := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	for sentence, test := range map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"no pods": {},
		"a pod that has done its work": {
			pods: []corev1.Pod{pod("a", 1, corev1.ContainerStatus{Name: "main", State: ended(0, "Completed", "")})},
		},
		"a pod that starts": {
			pods: []corev1.Pod{pod("a", 1, corev1.ContainerStatus{Name: "main", State: waiting("ContainerCreating", "")})},
		},
		"the newest of those that failed": {
			pods: []corev1.Pod{
				pod("a", 1, corev1.ContainerStatus{Name: "main", State: ended(1, "Error", "first try")}),
				pod("b", 2, corev1.ContainerStatus{Name: "main", State: ended(137, "OOMKilled", "")}),
				pod("c", 3, corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}),
			},
			want: "pod b: container main: OOMKilled, exit code 137",
		},
		"an image that cannot be pulled": {
			pods: []corev1.Pod{pod("a", 1, corev1.ContainerStatus{Name: "main", State: waiting("ErrImagePull", "no such tag")})},
			want: "pod a: container main: ErrImagePull: no such tag",
		},
		"a container that is to run again": {
			pods: []corev1.Pod{pod("a", 1, corev1.ContainerStatus{
				Name: "main", State: waiting("CrashLoopBackOff", "back-off 10s"), LastTerminationState: ended(2, "Error", "usage: migrate"),
			})},
			want: "pod a: container main: CrashLoopBackOff: back-off 10s, last run: Error, exit code 2: usage: migrate",
		},
		"a pod that was evicted": {
			pods: []corev1.Pod{{
				ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PodStatus{Reason: "Evicted", Message: "The node was low on memory."},
			}},
			want: "pod a: Evicted: The node was low on memory.",
		},
		"a pod for which there is no node": {
			pods: []corev1.Pod{{
				ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes fit"},
				}},
			}},
			want: "pod a: Unschedulable: 0/3 nodes fit",
		},
		"the end of a long message, not within a character": {
			pods: []corev1.Pod{pod("a", 1, corev1.ContainerStatus{Name: "main", State: ended(1, "Error", strings.Repeat("世", 1000)+"!!")})},
			want: "pod a: container main: Error, exit code 1: …" + strings.Repeat("世", 340) + "!!",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, podTrouble(test.pods)); diff != "" {
				t.Errorf("trouble (-want +got):\n%s", diff)
			}
		})
	}
}

// TestW1WhatDoesNotGetBetterIsGivenUp: the namespace of a job never comes.
func TestW1WhatDoesNotGetBetterIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	f.opts.Patience = time.Millisecond
	err := f.persistently(t.Context(), "trying", func(ctx context.Context) error { return f.checkNamespace(ctx, "never-"+s.environment) })
	if want := "given up after 1ms: namespace never-" + s.environment + " does not exist yet"; errorText(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	// That the API server cannot be asked says nothing, however long it lasts.
	tries := 0
	err = f.persistently(t.Context(), "trying", func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("connection refused")
		}
		return apierrors.NewBadRequest("the end")
	})
	if tries != 3 || errorText(err) != "the end" {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// TestW1ARightThatIsMissingForAMomentEndsNothing: an API server that has just
// started grants none. One that stays away does.
func TestW1ARightThatIsMissingForAMomentEndsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	missing := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "migrate", errors.New("no rights yet"))
	tries := 0
	err := f.persistently(t.Context(), "trying", func(context.Context) error {
		if tries++; tries < 3 {
			return missing
		}
		return nil
	})
	if tries != 3 || err != nil {
		t.Errorf("after %d tries: %v", tries, err)
	}
	f.opts.Patience = time.Millisecond
	err = f.persistently(t.Context(), "trying", func(context.Context) error { return missing })
	if !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want %v", err, missing)
	}
}
