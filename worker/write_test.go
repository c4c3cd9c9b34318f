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

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// place makes a StyrminDeployment under the shop's name that the worker did not
// make.
func (s *stage) place(change func(*styrminv1.StyrminDeployment)) *styrminv1.StyrminDeployment {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.key().Namespace}}
	if err := s.cluster.Create(s.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
	object := &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key().Namespace, Name: s.key().Name},
		Spec: styrminv1.StyrminDeploymentSpec{
			// Of another environment: the stage's operator does not see it.
			Environment: "other", TargetNamespace: "other-" + s.environment,
			HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "shop", Chart: styrminv1.ChartSpec{Repository: "oci://charts.example", Name: "shop", Version: "1"},
			},
		},
	}
	change(object)
	if err := s.cluster.Create(s.Context(), object); err != nil {
		s.Fatal(err)
	}
	return object
}

func TestW1AForeignObjectIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		change func(*styrminv1.StyrminDeployment)
		want   string
	}{
		"one that was applied by hand": {
			change: func(*styrminv1.StyrminDeployment) {},
			want:   "exists and was applied by hand; it is left untouched",
		},
		"one of another deployment": {
			change: func(d *styrminv1.StyrminDeployment) { d.Spec.DeploymentID = "0198" },
			want:   "exists and belongs to deployment 0198; it is left untouched",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			placed := s.place(test.change)
			s.startWorker()
			task := s.create(shopSpec("2.4.0"))
			s.wantResult(task, "FAILED", `step "Write the StyrminDeployment" failed: StyrminDeployment `+s.key().String()+" "+test.want)
			if now := s.object(); now.UID != placed.UID || now.ResourceVersion != placed.ResourceVersion {
				t.Errorf("it was touched: %+v", now)
			}
			// Nor is it deleted with the deployment.
			s.wantResult(s.change("deleteDeployment(id: $d)"), "SUCCEEDED", "")
			if now := s.object(); now == nil || now.UID != placed.UID {
				t.Errorf("it was deleted")
			}
		})
	}
}

func TestW1AWriteWaitsForAnObjectThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	placed := s.place(func(d *styrminv1.StyrminDeployment) {
		d.Spec.DeploymentID, d.Finalizers = "0198", []string{styrminv1.Finalizer}
	})
	if err := s.cluster.Delete(t.Context(), placed); err != nil {
		t.Fatal(err)
	}
	s.startWorker()
	task := s.create(shopSpec("2.4.0"))
	s.eventually("the write is under way", func() error {
		if step := s.task(task).Steps[0]; step.Status != "RUNNING" {
			return errors.New(step.Status)
		}
		return nil
	})
	if err := s.cluster.Patch(t.Context(), placed, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`))); err != nil {
		t.Fatal(err)
	}
	s.wantResult(task, "SUCCEEDED", "")
	if object := s.object(); object.Spec.DeploymentID != s.deployment {
		t.Errorf("the object is that of deployment %s", object.Spec.DeploymentID)
	}
}

// refuse has the API server refuse the shop's StyrminDeployment.
func (s *stage) refuse(message string) {
	s.Helper()
	name := "refuse-" + s.environment
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				ResourceNames: []string{s.key().Name},
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"styrmin.io"}, APIVersions: []string{"*"}, Resources: []string{"styrmindeployments"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: message}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := s.cluster.Create(s.Context(), object); err != nil {
			s.Fatal(err)
		}
	}
	s.eventually("the policy is in force", func() error {
		dry := &styrminv1.StyrminDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.key().Namespace, Name: s.key().Name},
			Spec: styrminv1.StyrminDeploymentSpec{Environment: "other", HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "shop", Chart: styrminv1.ChartSpec{Repository: "oci://charts.example", Name: "shop", Version: "1"},
			}},
		}
		if err := s.cluster.Create(s.Context(), dry, client.DryRunAll); err == nil || !strings.Contains(err.Error(), message) {
			return fmt.Errorf("a creation is answered %w", err)
		}
		return nil
	})
}

func TestW1AWriteThatTheClusterRefusesFailsTheStep(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.place(func(d *styrminv1.StyrminDeployment) { d.Name += "-namespace" }) // For its namespace.
	s.refuse("no shops on Sundays")
	s.startWorker()
	task := s.create(shopSpec("2.4.0"))
	s.wantResult(task, "FAILED", "no shops on Sundays")
	s.wantStatus("FAILED")
}

// flowOf returns a flow of the shop's deployment, with its lease held, to run parts
// of it.
func (s *stage) flowOf(deploymentID string) *flow {
	s.Helper()
	h := s.startWorker(func(_ *hands, o *Options) { o.ClusterID = s.clusterID })
	return &flow{
		worker: h.worker, log: h.log, id: "task", object: s.key(),
		task:  &TaskFields{Id: "task", DeploymentId: deploymentID},
		lease: newLease(h.clock, time.Now().Add(time.Hour)),
	}
}

// instanceOf is what recordSpecWrite answers.
func (s *stage) instanceOf(id, spec string) *RecordedInstance {
	return &RecordedInstance{Id: id, DeploymentId: "d-" + s.environment, Spec: []byte(strings.ReplaceAll(spec, "ENV", s.environment))}
}

const smallSpec = `{"environment": "ENV", "helmRelease": {"releaseName": "shop", "chart": {"repository": "oci://charts.example", "name": "shop", "version": "1"}}%s}`

func (f *flow) applyInstance(t *testing.T, instance *RecordedInstance) error {
	t.Helper()
	desired, err := declaration(f.object, instance)
	if err != nil {
		t.Fatal(err)
	}
	return f.apply(t.Context(), desired, instance.DeploymentId)
}

func TestW1WhatIsWrongWithASpecIsPermanent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	for sentence, test := range map[string]struct{ more, want string }{
		"a field that the schema does not have": {`, "helmRelaese": {}`, ".spec.helmRelaese: field not declared in schema"},
		"a value that the schema refuses":       {`, "version": 2`, "spec.version"},
		"a rule of the definition (CEL)": {
			`, "services": [{"name": "web", "component": "none", "port": 80}]`, "every service's component must be one of components",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := f.applyInstance(t, s.instanceOf("i-1", fmt.Sprintf(smallSpec, test.more)))
			if err == nil || !isPermanent(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error (permanent: %t) %v, want a permanent one with %q", isPermanent(err), err, test.want)
			}
		})
	}
}

func TestW1AWriteIsWhatTheInstanceSays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	component := func(name string) string {
		return fmt.Sprintf(`{"name": %q, "replicas": 2, "replicasValue": "a.b", "selector": {"matchLabels": {"app": %q}}}`, name, name)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.applyInstance(t, s.instanceOf("i-1", fmt.Sprintf(smallSpec, `, "version": "1", "components": [`+component("a")+","+component("b")+`]`))))
	// Someone turns a screw by hand.
	object := s.object()
	object.Spec.Components[0].Replicas = 7
	must(s.cluster.Update(t.Context(), object))
	// The same again, as after a crash, puts it right; the next one drops what it
	// does not have.
	must(f.applyInstance(t, s.instanceOf("i-1", fmt.Sprintf(smallSpec, `, "version": "1", "components": [`+component("a")+","+component("b")+`]`))))
	if replicas := s.object().Spec.Components[0].Replicas; replicas != 2 {
		t.Errorf("%d replicas, want 2", replicas)
	}
	must(f.applyInstance(t, s.instanceOf("i-2", fmt.Sprintf(smallSpec, `, "version": "2", "components": [`+component("a")+`]`))))
	if object := s.object(); len(object.Spec.Components) != 1 || object.Spec.InstanceID != "i-2" || object.Spec.Version != "2" {
		t.Errorf("spec %+v", object.Spec)
	}
}

// TestW3ALateWriteChangesNothing: a worker that was held up writes on what it read,
// and someone has written since.
func TestW3ALateWriteChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	if err := f.applyInstance(t, s.instanceOf("i-1", fmt.Sprintf(smallSpec, ""))); err != nil {
		t.Fatal(err)
	}
	late, err := declaration(f.object, s.instanceOf("i-1", fmt.Sprintf(smallSpec, "")))
	if err != nil {
		t.Fatal(err)
	}
	read := s.object()
	late.SetUID(read.UID)
	late.SetResourceVersion(read.ResourceVersion)
	if err := f.applyInstance(t, s.instanceOf("i-2", fmt.Sprintf(smallSpec, `, "version": "2"`))); err != nil {
		t.Fatal(err)
	}
	err = f.writer.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(late), fieldOwner, client.ForceOwnership)
	if !apierrors.IsConflict(err) || isPermanent(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	if id := s.object().Spec.InstanceID; id != "i-2" {
		t.Errorf("instance %s, want i-2", id)
	}
}

// TestW3ALateFirstWriteChangesNothing: when the worker that was held up looked, there
// was no object; by the time its write comes, another worker has made it, and a later
// task has written to it.
func TestW3ALateFirstWriteChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	f.writer = interceptor.NewClient(s.cluster, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			f.writer = c // What comes now is the other worker's.
			for _, instance := range []string{"i-1", "i-2"} {
				//nolint:contextcheck // it is the test's, as everywhere
				if err := f.applyInstance(t, s.instanceOf(instance, fmt.Sprintf(smallSpec, ""))); err != nil {
					t.Error(err)
				}
			}
			return c.Apply(ctx, object, opts...)
		},
	})
	err := f.applyInstance(t, s.instanceOf("i-1", fmt.Sprintf(smallSpec, "")))
	if !apierrors.IsConflict(err) || isPermanent(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	if id := s.object().Spec.InstanceID; id != "i-2" {
		t.Errorf("instance %s, want i-2", id)
	}
}

func TestW1TheNamespaceIsMadeWhereItIsMissing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.flowOf("d-" + s.environment)
	f.object.Namespace = "styrmin-" + s.environment
	for range 2 {
		if err := f.applyInstance(t, s.instanceOf("i-1", fmt.Sprintf(smallSpec, ""))); err != nil {
			t.Fatal(err)
		}
	}
	object := &styrminv1.StyrminDeployment{}
	if err := s.cluster.Get(t.Context(), f.object, object); err != nil {
		t.Error(err)
	}
}

// TestW1ADeletionIsOfTheObjectThatWasRead: another object takes the name between
// reading and deleting.
func TestW1ADeletionIsOfTheObjectThatWasRead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	placed := s.place(func(*styrminv1.StyrminDeployment) {})
	f := s.flowOf(string(placed.UID)) // The server knows what was applied by hand by its UID.
	var another *styrminv1.StyrminDeployment
	f.writer = interceptor.NewClient(s.cluster, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			if another == nil {
				if err := c.Delete(ctx, placed.DeepCopy()); err != nil {
					t.Error(err)
				}
				another = s.place(func(*styrminv1.StyrminDeployment) {}) //nolint:contextcheck // it is the test's, as everywhere
			}
			return c.Delete(ctx, object, opts...)
		},
	})
	if err := f.deleteObject(t.Context()); !apierrors.IsConflict(err) || isPermanent(err) {
		t.Fatalf("error %v, want a conflict that is tried again", err)
	}
	if err := f.deleteObject(t.Context()); err != nil {
		t.Errorf("the object is gone already: %v", err)
	}
	if now := s.object(); now == nil || now.UID != another.UID {
		t.Error("the other object was deleted")
	}
}
