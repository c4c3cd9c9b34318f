// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch

// workload is what readiness needs of a Deployment, StatefulSet or DaemonSet.
type workload struct {
	kind, name string
	// podLabels are those of its pod template.
	podLabels labels.Set
	// declared is how many pods it is told to run, observed how many it has.
	declared, observed int32
	// state and message are kstatus's.
	state   status.Status
	message string
}

// readiness is what the pods and workloads of a target namespace say.
type readiness struct {
	components []styrminv1.ComponentStatus
	// waitingFor says what is not as declared; empty: all components are.
	waitingFor string
	// failing says which pod or workload shows a failure; empty: none.
	failing string
	// isError: the failure has lasted longer than the grace, or the waiting
	// longer than a rollout may take (O4).
	isError bool
	// recheckAfter is when time alone changes this.
	recheckAfter time.Duration
}

// observeReadiness reads the target namespace's workloads and pods from the
// caches and judges them.
func (r *reconciler) observeReadiness(ctx context.Context, s *scope, attempted, installed bool) (readiness, error) {
	workloads, err := r.listWorkloads(ctx, s.namespace)
	if err != nil {
		return readiness{}, err
	}
	pods := &corev1.PodList{}
	if err := r.cached.List(ctx, pods, client.InNamespace(s.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return readiness{}, fmt.Errorf("listing the pods of %s: %w", s.namespace, err)
	}
	return judgeReadiness(s, r.opts, workloads, pods.Items, attempted, installed), nil
}

// judgeReadiness decides whether every component is as declared, and whether
// something shows a failure (O4). It is pure. Pods count once Flux has begun on
// this spec (attempted); Jobs' pods only until the release is installed, when
// they are hooks that hold it up.
func judgeReadiness(s *scope, opts Options, workloads []workload, pods []corev1.Pod, attempted, installed bool) readiness {
	out := readiness{}
	before := s.condition(styrminv1.ConditionReady)
	wasFailing := before != nil && before.Reason == styrminv1.ReasonPodsFailing
	wasError := wasFailing && s.status.DisplayState == styrminv1.DisplayStateError

	var failures []podFailure
	if attempted {
		failures = podFailures(pods, s.now, opts.SettleTime, wasError, !installed)
		if !wasFailing {
			failures = visibleOnly(failures)
		}
	}
	failed := failedWorkload(workloads)
	if !attempted {
		failed = ""
	}
	for i := range s.deployment.Spec.Components {
		c := judgeComponent(&s.deployment.Spec.Components[i], workloads, pods, failures)
		out.components = append(out.components, c.status)
		if out.waitingFor == "" {
			out.waitingFor = c.waitingFor
		}
	}
	switch {
	case failed != "":
		out.failing, out.isError = failed, true
	case len(failures) > 0:
		out.failing = describeFailures(failures, messageOf(before, ""))
		out.judgeGrace(s, opts, before, wasFailing, wasError, failures)
	case out.waitingFor != "" && installed:
		out.judgeWaiting(s, opts, before)
	}
	return out
}

// judgeGrace turns a failure into an error when it shows and has been there for
// longer than the grace. An error stays one while the failure does.
func (out *readiness) judgeGrace(s *scope, opts Options, before *metav1.Condition, wasFailing, wasError bool, failures []podFailure) {
	left := opts.PodGrace
	if wasFailing {
		left -= atLeast(before.LastTransitionTime.Time, s.now)
	}
	out.isError = wasError || (left <= 0 && len(visibleOnly(failures)) > 0)
	if !out.isError {
		out.recheckAfter = max(left, time.Second)
		return
	}
	// A container that has restarted becomes calm without any event.
	if len(visibleOnly(failures)) == 0 {
		out.recheckAfter = opts.SettleTime
	}
}

// judgeWaiting turns waiting for the components into an error when it has taken
// longer than a rollout may: not each workload has a deadline of its own.
func (out *readiness) judgeWaiting(s *scope, opts Options, before *metav1.Condition) {
	since := s.since(styrminv1.ConditionServicesReady)
	if before != nil && before.LastTransitionTime.After(since) {
		since = before.LastTransitionTime.Time
	}
	if since.IsZero() {
		return
	}
	limit := s.helmTimeout() + opts.ProgressGrace
	left := limit - atLeast(since, s.now)
	if left > 0 {
		out.recheckAfter = left
		return
	}
	out.isError = true
}

func visibleOnly(failures []podFailure) []podFailure {
	var visible []podFailure
	for _, f := range failures {
		if f.visible {
			visible = append(visible, f)
		}
	}
	return visible
}

// failedWorkload names a workload whose progress deadline has passed.
func failedWorkload(workloads []workload) string {
	for _, w := range workloads {
		if w.state == status.FailedStatus {
			return fmt.Sprintf("%s %s: %s", w.kind, w.name, w.message)
		}
	}
	return ""
}

// judgedComponent is a component's status and what it still lacks.
type judgedComponent struct {
	status     styrminv1.ComponentStatus
	waitingFor string
}

// judgeComponent compares one component with its workloads and pods.
func judgeComponent(c *styrminv1.ComponentSpec, workloads []workload, pods []corev1.Pod, failures []podFailure) judgedComponent {
	out := judgedComponent{status: styrminv1.ComponentStatus{Name: c.Name, Desired: c.DesiredReplicas()}}
	selector, err := metav1.LabelSelectorAsSelector(&c.Selector)
	if err != nil {
		out.status.State = styrminv1.ComponentError
		out.waitingFor = fmt.Sprintf("component %s: its selector is invalid: %s", c.Name, err)
		return out
	}
	mine := podsOf(pods, selector)
	for _, pod := range mine {
		if isReady(pod) {
			out.status.Ready++
		}
	}
	own := matching(workloads, selector)
	if c.ReplicasValue == "" && len(own) > 0 {
		// The chart alone says how many there are to be.
		out.status.Desired = declaredBy(own)
	}
	out.waitingFor = lacking(out.status, own, mine)
	switch {
	case failsAny(mine, failures):
		out.status.State = styrminv1.ComponentError
	case out.waitingFor != "":
		out.status.State = styrminv1.ComponentProgressing
	case c.IsRunning():
		out.status.State = styrminv1.ComponentRunning
	default:
		out.status.State = styrminv1.ComponentStopped
	}
	return out
}

// declaredBy is how many pods the workloads are told to run.
func declaredBy(workloads []workload) int32 {
	var declared int32
	for _, w := range workloads {
		declared += w.declared
	}
	return declared
}

// lacking says what keeps the component from being as declared, or "".
func lacking(have styrminv1.ComponentStatus, workloads []workload, pods []*corev1.Pod) string {
	var observed int32
	for _, w := range workloads {
		observed += w.observed
	}
	declared := declaredBy(workloads)
	switch {
	case len(workloads) == 0 && len(pods) == 0 && have.Desired > 0:
		return fmt.Sprintf("component %s: no workload or pod matches its selector", have.Name)
	case len(workloads) > 0 && declared != have.Desired:
		return fmt.Sprintf("component %s: its workloads declare %d replicas, not %d", have.Name, declared, have.Desired)
	case have.Desired == 0 && (observed > 0 || len(pods) > 0):
		return fmt.Sprintf("component %s: %d pods are left", have.Name, max(int(observed), len(pods)))
	}
	for _, w := range workloads {
		if w.state != status.CurrentStatus {
			return fmt.Sprintf("component %s: %d of %d pods are ready; %s %s: %s%s",
				have.Name, have.Ready, have.Desired, w.kind, w.name, w.message, unscheduled(pods))
		}
	}
	if have.Ready < have.Desired {
		return fmt.Sprintf("component %s: %d of %d pods are ready%s", have.Name, have.Ready, have.Desired, unscheduled(pods))
	}
	return ""
}

// unscheduled tells of the first pod that has no node.
func unscheduled(pods []*corev1.Pod) string {
	for _, pod := range pods {
		if problem := schedulingProblem(pod); problem != "" {
			return fmt.Sprintf("; pod %s has no node: %s", pod.Name, problem)
		}
	}
	return ""
}

// podsOf returns the pods that a selector selects and that have not finished.
func podsOf(pods []corev1.Pod, selector labels.Selector) []*corev1.Pod {
	var mine []*corev1.Pod
	for i := range pods {
		if !isFinished(&pods[i]) && selector.Matches(labels.Set(pods[i].Labels)) {
			mine = append(mine, &pods[i])
		}
	}
	return mine
}

func matching(workloads []workload, selector labels.Selector) []workload {
	var mine []workload
	for _, w := range workloads {
		if selector.Matches(w.podLabels) {
			mine = append(mine, w)
		}
	}
	return mine
}

func failsAny(pods []*corev1.Pod, failures []podFailure) bool {
	for _, pod := range pods {
		for _, f := range failures {
			if f.pod == pod.Name {
				return true
			}
		}
	}
	return false
}

// listWorkloads reads the namespace's workloads from the cache.
func (r *reconciler) listWorkloads(ctx context.Context, namespace string) ([]workload, error) {
	var (
		deployments  appsv1.DeploymentList
		statefulSets appsv1.StatefulSetList
		daemonSets   appsv1.DaemonSetList
		workloads    []workload
	)
	for _, list := range []client.ObjectList{&deployments, &statefulSets, &daemonSets} {
		if err := r.cached.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the workloads of %s: %w", namespace, err)
		}
	}
	add := func(obj client.Object, kind string, template *corev1.PodTemplateSpec, declared, observed int32) error {
		state, err := computeStatus(obj, appsv1.SchemeGroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		workloads = append(workloads, workload{
			kind: kind, name: obj.GetName(), podLabels: template.Labels,
			declared: declared, observed: observed, state: state.Status, message: state.Message,
		})
		return nil
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if err := add(d, "Deployment", &d.Spec.Template, replicas(d.Spec.Replicas), d.Status.Replicas); err != nil {
			return nil, err
		}
	}
	for i := range statefulSets.Items {
		d := &statefulSets.Items[i]
		if err := add(d, "StatefulSet", &d.Spec.Template, replicas(d.Spec.Replicas), d.Status.Replicas); err != nil {
			return nil, err
		}
	}
	for i := range daemonSets.Items {
		d := &daemonSets.Items[i]
		if err := add(d, "DaemonSet", &d.Spec.Template, d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled); err != nil {
			return nil, err
		}
	}
	return workloads, nil
}

// computeStatus is kstatus's view of an object.
func computeStatus(obj client.Object, kind schema.GroupVersionKind) (*status.Result, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	result, err := status.Compute(u)
	if err != nil {
		return nil, fmt.Errorf("computing the status of %s %s: %w", kind.Kind, client.ObjectKeyFromObject(obj), err)
	}
	return result, nil
}

// replicas is a workload's declared number; the API's default is one.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
