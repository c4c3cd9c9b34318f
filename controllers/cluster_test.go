// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// badImage is an image that the simulated kubelet cannot pull.
const badImage = "registry.test/server:bad"

// simulation stands for what envtest lacks: Flux, the workload controllers, the
// kubelets and the namespace controller. Its Flux plays recorded statuses.
type simulation struct {
	client  client.Client
	kube    kubernetes.Interface
	records recordings

	mu sync.Mutex
	// manual are HelmReleases, by namespace, that a test plays itself.
	manual map[string]bool
	// held are namespaces that a test does not let go.
	held map[string]bool
	// installed are the HelmReleases that workloads were ever made for, and
	// uninstalled those that went through an uninstall.
	installed, uninstalled map[string]bool
}

// simulate starts a simulation; it ends with the test.
func simulate(t testing.TB, config *rest.Config) *simulation {
	t.Helper()
	mgr := newManager(t, config, nil, nil)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	sim := &simulation{
		client: newClient(t, config), kube: kube, records: loadRecordings(t),
		manual: map[string]bool{}, held: map[string]bool{}, installed: map[string]bool{}, uninstalled: map[string]bool{},
	}
	for obj, work := range map[client.Object]reconcile.Func{
		&helmv2.HelmRelease{}: sim.reconcileHelmRelease,
		&corev1.Namespace{}:   sim.reconcileNamespace,
	} {
		name := fmt.Sprintf("simulated%T", obj)
		name = strings.ToLower(name[strings.LastIndex(name, ".")+1:])
		if err := ctrl.NewControllerManagedBy(mgr).Named("simulated-" + name).For(obj).
			WithOptions(controller.Options{MaxConcurrentReconciles: 8}).Complete(work); err != nil {
			t.Fatalf("setting up the simulation: %v", err)
		}
	}
	start(t, mgr)
	return sim
}

func (sim *simulation) set(m map[string]bool, namespace string, value bool) {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	m[namespace] = value
}

func (sim *simulation) is(m map[string]bool, namespace string) bool {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	return m[namespace]
}

// reconcileHelmRelease is Flux: it installs, upgrades and uninstalls at once,
// and writes the statuses that the real one was recorded with.
func (sim *simulation) reconcileHelmRelease(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	hr := &helmv2.HelmRelease{}
	if err := sim.client.Get(ctx, req.NamespacedName, hr); err != nil || sim.is(sim.manual, req.Namespace) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !hr.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, sim.uninstall(ctx, hr)
	}
	if controllerutil.AddFinalizer(hr, helmv2.HelmReleaseFinalizer) {
		return ctrl.Result{}, sim.client.Update(ctx, hr)
	}
	settled := hr.Status.ObservedGeneration == hr.Generation && !isAskedToRetry(hr)
	if hr.Spec.Suspend || settled {
		return ctrl.Result{}, nil
	}
	image, err := sim.installWorkloads(ctx, hr)
	if err != nil {
		return ctrl.Result{}, err
	}
	scenario := sim.records.installOK
	if image == badImage {
		scenario = sim.records.installFails
	}
	return ctrl.Result{}, sim.play(ctx, hr, scenario)
}

// play writes a recorded sequence of statuses as that of the present generation.
func (sim *simulation) play(ctx context.Context, hr *helmv2.HelmRelease, statuses []helmv2.HelmReleaseStatus) error {
	for _, status := range statuses {
		current := &helmv2.HelmRelease{}
		if err := sim.client.Get(ctx, client.ObjectKeyFromObject(hr), current); err != nil {
			return client.IgnoreNotFound(err)
		}
		played := current.DeepCopy()
		played.Status = forGeneration(status, hr.Generation)
		played.Status.LastHandledReconcileAt = current.Status.LastHandledReconcileAt
		played.Status.LastHandledResetAt = current.Status.LastHandledResetAt
		if played.Status.ObservedGeneration == hr.Generation {
			played.Status.LastHandledReconcileAt = hr.Annotations["reconcile.fluxcd.io/requestedAt"]
			played.Status.LastHandledResetAt = hr.Annotations["reconcile.fluxcd.io/resetAt"]
		}
		if err := sim.client.Status().Update(ctx, played); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return nil
}

// releaseValuesInTest are the values that the simulated chart knows.
type chartValues struct {
	Image  string `json:"image"`
	Server struct {
		Replicas int32 `json:"replicas"`
	} `json:"server"`
}

// installWorkloads makes the chart's one Deployment and its pods.
func (sim *simulation) installWorkloads(ctx context.Context, hr *helmv2.HelmRelease) (image string, err error) {
	values := chartValues{}
	if err := json.Unmarshal(hr.Spec.Values.Raw, &values); err != nil {
		return "", err
	}
	sim.set(sim.installed, hr.Namespace, true)
	labels := map[string]string{"app": "server"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: "server"}}
	_, err = controllerutil.CreateOrUpdate(ctx, sim.client, d, func() error {
		d.Spec = appsv1.DeploymentSpec{
			Replicas: &values.Server.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: values.Image}}},
			},
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return values.Image, sim.runWorkload(ctx, d)
}

// runWorkload is the Deployment controller and the kubelets in one.
func (sim *simulation) runWorkload(ctx context.Context, d *appsv1.Deployment) error {
	healthy := d.Spec.Template.Spec.Containers[0].Image != badImage
	n := *d.Spec.Replicas
	if err := sim.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(d.Namespace), client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, GenerateName: "server-", Labels: d.Spec.Template.Labels},
			Spec:       d.Spec.Template.Spec,
		}
		if err := sim.client.Create(ctx, pod); err != nil {
			return fmt.Errorf("creating pod %d: %w", i, err)
		}
		pod.Status = podStatus(pod, healthy)
		if err := sim.client.Status().Update(ctx, pod); err != nil {
			return err
		}
	}
	ready := n
	if !healthy {
		ready = 0
	}
	d.Status = deploymentStatus(d.Generation, n, ready)
	return sim.client.Status().Update(ctx, d)
}

func podStatus(pod *corev1.Pod, healthy bool) corev1.PodStatus {
	container := corev1.ContainerStatus{Name: "server", Image: pod.Spec.Containers[0].Image, Ready: healthy}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	status := corev1.PodStatus{Phase: corev1.PodRunning}
	if healthy {
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	} else {
		status.Phase = corev1.PodPending
		condition.Status = corev1.ConditionFalse
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonErrImagePull, Message: "manifest unknown"}
	}
	status.Conditions = []corev1.PodCondition{condition}
	status.ContainerStatuses = []corev1.ContainerStatus{container}
	return status
}

func deploymentStatus(generation int64, replicas, ready int32) appsv1.DeploymentStatus {
	available := corev1.ConditionTrue
	if ready < replicas {
		available = corev1.ConditionFalse
	}
	return appsv1.DeploymentStatus{
		ObservedGeneration: generation,
		Replicas:           replicas, UpdatedReplicas: replicas, ReadyReplicas: ready, AvailableReplicas: ready,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			{Type: appsv1.DeploymentAvailable, Status: available, Reason: "Simulated"},
		},
	}
}

// uninstall removes what the release made, unless it is suspended: the real
// Flux lets a suspended one go as it is.
func (sim *simulation) uninstall(ctx context.Context, hr *helmv2.HelmRelease) error {
	if !hr.Spec.Suspend {
		sim.set(sim.uninstalled, hr.Namespace, true)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: "server"}}
		if err := client.IgnoreNotFound(sim.client.Delete(ctx, d)); err != nil {
			return err
		}
		err := sim.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(hr.Namespace), client.GracePeriodSeconds(0))
		if err != nil {
			return err
		}
	}
	if controllerutil.RemoveFinalizer(hr, helmv2.HelmReleaseFinalizer) {
		return client.IgnoreNotFound(sim.client.Update(ctx, hr))
	}
	return nil
}

// reconcileNamespace is the namespace controller: it lets a namespace go once it
// is empty of what the tests put there.
func (sim *simulation) reconcileNamespace(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ns, err := sim.kube.CoreV1().Namespaces().Get(ctx, req.Name, metav1.GetOptions{})
	if err != nil || ns.DeletionTimestamp.IsZero() || sim.is(sim.held, req.Name) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	for _, obj := range []client.Object{&corev1.Pod{}, &corev1.Secret{}, &corev1.ConfigMap{}, &appsv1.Deployment{}} {
		if err := sim.client.DeleteAllOf(ctx, obj, client.InNamespace(req.Name), client.GracePeriodSeconds(0)); err != nil {
			return ctrl.Result{}, err
		}
	}
	ns.Spec.Finalizers = nil
	_, err = sim.kube.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
