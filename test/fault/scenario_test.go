// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/test/system"
)

// startWithin is how long the first report may take on a busy machine.
const startWithin = 2 * time.Minute

// scenario is one cluster, or a namespace of it, with a real server and what is
// really so in the cluster.
type scenario struct {
	t         *testing.T
	config    *rest.Config
	cluster   client.Client
	namespace string
	server    *system.System
	gateway   *gateway
	truth     *truth
	// skew is by how much an agent's clock was ahead that has just shown this.
	skew func(shown time.Time) time.Duration
}

func newScenario(t *testing.T, config *rest.Config) *scenario {
	t.Helper()
	s := &scenario{
		t: t, config: config, cluster: newClient(t, config),
		truth: &truth{changes: map[subject][]change{}},
		skew:  func(time.Time) time.Duration { return 0 },
	}
	s.namespace = s.createNamespace()
	var err error
	s.server, err = system.StartServerOnly(t.Context(), system.Options{Dir: t.TempDir(), Server: programs.server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.gateway = newGateway(t, s.server.ServerURL, s.lies)
	return s
}

// step runs a part of the scenario as a test of its own.
func (s *scenario) step(name string, do func()) {
	outer := s.t
	defer func() { s.t = outer }()
	outer.Run(name, func(t *testing.T) {
		s.t = t
		do()
	})
}

// lies checks what the server shows after it has applied a report.
func (s *scenario) lies(r *report) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	v, err := look(ctx, s.server, s.namespace)
	if err != nil {
		return []string{"the server does not show what it has: " + err.Error()}
	}
	provenAt := r.Variables.Report.ObservedAt.Add(-s.skew(r.Variables.Report.SentAt))
	lies := s.truth.lies(r.OperationName, v, provenAt)
	if ahead := v.freshUntil().Sub(provenAt); ahead > maxTransit {
		lies = append(lies, fmt.Sprintf("it is shown as current up to %s later than it was proven", ahead))
	}
	return lies
}

func (s *scenario) createNamespace() string {
	s.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fault-"}}
	if err := s.cluster.Create(s.t.Context(), namespace); err != nil {
		s.t.Fatal(err)
	}
	return namespace.Name
}

// pod and deployment name the subjects of the scenario.
func (s *scenario) pod(name string) subject { return subject{half: pods, name: name} }

func (s *scenario) deployment() subject { return subject{half: deployments, name: s.namespace} }

func (s *scenario) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// createPod creates a pod, which waits for a node.
func (s *scenario) createPod(name string) subject {
	s.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	s.must(s.truth.does(s.pod(name), "Pending", func() error { return s.cluster.Create(s.t.Context(), pod) }))
	return s.pod(name)
}

// setPod writes a pod's status so that kubectl's word for it is this one:
// Running, or the reason of a container that waits.
func (s *scenario) setPod(p subject, word string) {
	s.t.Helper()
	pod := &corev1.Pod{}
	s.must(s.cluster.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: p.name}, pod))
	container := corev1.ContainerStatus{Name: "app", Image: "app:1", ImageID: "id"}
	if word == string(corev1.PodRunning) {
		container.Ready = true
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	} else {
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: word}
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{container}}
	s.must(s.truth.does(p, word, func() error { return s.cluster.Status().Update(s.t.Context(), pod) }))
}

// terminating is what the API server writes of a pod just before it removes it.
const terminating = "Terminating"

func (s *scenario) deletePod(p subject) {
	s.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: p.name}}
	s.must(s.truth.does(p, absent, func() error {
		return s.cluster.Delete(s.t.Context(), pod, client.GracePeriodSeconds(0))
	}, terminating))
}

// The statuses of the scenario's deployment, which nobody but the test operates.
const (
	deploying = "DEPLOYING"
	isRunning = "RUNNING"
	failed    = "FAILED"
)

// createDeployment applies a StyrminDeployment, as kubectl would, which the
// server adopts. Its operator has not seen it yet.
func (s *scenario) createDeployment() subject {
	s.t.Helper()
	object := &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.namespace},
		Spec: styrminv1.StyrminDeploymentSpec{
			Environment: "prod", TargetNamespace: s.namespace,
			HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "shop",
				Chart:       styrminv1.ChartSpec{Repository: "https://charts.example", Name: "shop", Version: "1.0.0"},
			},
		},
	}
	s.must(s.truth.does(s.deployment(), deploying, func() error { return s.cluster.Create(s.t.Context(), object) }))
	return s.deployment()
}

// setDeployment writes the StyrminDeployment's status as the operator does for
// a deployment that the server then shows like this.
func (s *scenario) setDeployment(status string) {
	s.t.Helper()
	object := s.getDeployment()
	object.Status.InstanceID, object.Status.ObservedGeneration = object.InstanceID(), object.Generation
	switch status {
	case isRunning:
		object.Status.Phase, object.Status.DisplayState = styrminv1.PhaseReady, styrminv1.DisplayStateRunning
	case failed:
		object.Status.Phase, object.Status.DisplayState = styrminv1.PhaseReady, styrminv1.DisplayStateError
	default:
		object.Status.Phase, object.Status.DisplayState = styrminv1.PhaseCreatingHelmRelease, styrminv1.DisplayStateDeploying
	}
	s.must(s.truth.does(s.deployment(), status, func() error { return s.cluster.Status().Update(s.t.Context(), object) }))
}

// upgrade writes a new version into the spec. Until the operator has seen that,
// its status is the one of the rollout before.
func (s *scenario) upgrade(version string) {
	s.t.Helper()
	object := s.getDeployment()
	object.Spec.Version = version
	s.must(s.truth.does(s.deployment(), deploying, func() error { return s.cluster.Update(s.t.Context(), object) }))
}

func (s *scenario) getDeployment() *styrminv1.StyrminDeployment {
	s.t.Helper()
	object := &styrminv1.StyrminDeployment{}
	s.must(s.cluster.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.namespace}, object))
	return object
}

// shown waits until the server shows each subject as it is now, and returns how
// long after the last of the changes that was.
func (s *scenario) shown(limit time.Duration, subjects ...subject) time.Duration {
	s.t.Helper()
	changed := time.Time{}
	for _, subject := range subjects {
		if since := s.truth.since(subject); since.After(changed) {
			changed = since
		}
	}
	s.eventually(limit, fmt.Sprintf("the server shows %v as it is", subjects), func() bool {
		v, err := look(s.t.Context(), s.server, s.namespace)
		if err != nil {
			return false // It may be the one that is harmed.
		}
		return s.isTold(v, subjects...)
	})
	return time.Since(changed)
}

// isTold tells whether the view shows each subject as it is now.
func (s *scenario) isTold(v *view, subjects ...subject) bool {
	for _, subject := range subjects {
		if v.shows(subject) != s.truth.now(subject) {
			return false
		}
	}
	return true
}

// detected tells how long it took until the truth was shown, and bounds that.
func (s *scenario) detected(what string, took, bound time.Duration) {
	s.t.Helper()
	s.t.Logf("DETECTED %s: %s (bound %s)", what, took.Round(10*time.Millisecond), bound)
	if took > bound {
		s.t.Errorf("It took %s until the server showed the truth about %s, the bound is %s", took, what, bound)
	}
}

// stillShows makes sure that the server shows what it showed before the harm,
// and does not claim that to be newer than the harm.
func (s *scenario) stillShows(before map[subject]string, harmedAt time.Time) {
	s.t.Helper()
	v, err := look(s.t.Context(), s.server, s.namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	for subject, want := range before {
		if got := v.shows(subject); got != want {
			s.t.Errorf("%s is shown as %s, want %s as before the harm", subject.name, got, want)
		}
	}
	// A report that was proven before the harm may have been on its way.
	if fresh := v.freshUntil(); fresh.After(harmedAt.Add(2 * time.Second)) {
		s.t.Errorf("What is shown is claimed to be of %s, the harm was done at %s", fresh, harmedAt)
	}
}

// eventually polls for what other processes bring about.
func (s *scenario) eventually(limit time.Duration, what string, condition func() bool) {
	s.t.Helper()
	deadline := time.After(limit)
	for !condition() {
		select {
		case <-deadline:
			s.t.Fatalf("After %s it has not come about that %s", limit, what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
