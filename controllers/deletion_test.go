// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// removalRank is the place of a kind in the order of a deletion (O6); objects of
// one rank go in any order.
var removalRank = map[string]int{
	"helmreleases": 1,
	"services":     2, "ingressroutes": 2, "middlewares": 2, "helmrepositories": 2,
	"secrets": 3, "networkpolicies": 3,
	"namespaces":         4,
	"styrmindeployments": 5,
}

// checkRemovalOrder checks the order of the deletes and of the finalizer's
// removal among the requests.
func checkRemovalOrder(t *testing.T, requests []request) {
	t.Helper()
	var got []string
	for _, r := range requests {
		if r.verb == "delete" || (r.resource == "styrmindeployments" && r.verb == "patch") {
			got = append(got, r.resource)
		}
	}
	inOrder := slices.IsSortedFunc(got, func(a, b string) int { return removalRank[a] - removalRank[b] })
	if !inOrder || len(got) == 0 {
		t.Errorf("deleted in this order: %v", got)
	}
}

func TestO6OrderOfADeletion(t *testing.T) {
	w := &wire{}
	startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	before := len(w.writes(f.key.Namespace, f.target))
	f.delete()
	f.waitGone()
	writes := w.writesFrom(before, f.key.Namespace, f.target)
	checkRemovalOrder(t, writes)

	var phases []string
	for _, r := range writes {
		if status := writtenStatus(t, r); status != nil {
			phases = append(phases, string(status.Phase))
			if status.InstanceID != "i-1" {
				t.Errorf("the deletion changed the instance to %q", status.InstanceID)
			}
		}
	}
	if want := []string{"Deleting", "Deleted"}; !cmp.Equal(slices.Compact(phases), want) {
		t.Errorf("phases of the deletion = %v, want %v", phases, want)
	}
}

// TestO6DeletionGoesOnAfterACrashAtAnyWrite: of a dozen deployments, the first
// operator can do no more than 1, 2, 3… writes each for their deletion; the
// second one ends the job.
func TestO6DeletionGoesOnAfterACrashAtAnyWrite(t *testing.T) {
	const deployments = 12
	c := newClient(t, apiServer)
	fixtures := make([]*fixture, deployments)
	allowed := map[string]int{} // Writes left, by the home and the target namespace.
	var mu sync.Mutex
	w := &wire{before: func(r request) error {
		mu.Lock()
		defer mu.Unlock()
		key := r.namespace
		if r.resource == "namespaces" {
			key = r.name
		}
		left, limited := allowed[key]
		if !limited || !r.isWrite() {
			return nil
		}
		if left == 0 {
			return errText("crashed")
		}
		for i := range fixtures {
			if fixtures[i].key.Namespace == key || fixtures[i].target == key {
				allowed[fixtures[i].key.Namespace], allowed[fixtures[i].target] = left-1, left-1
			}
		}
		return nil
	}}
	sim := simulate(t, apiServer)
	first := startOperator(t, w.tapped(apiServer), fast(), nil)
	for i := range fixtures {
		f, d := newFixture(t, c, "shop")
		fixtures[i] = f
		f.create(d)
	}
	for i, f := range fixtures {
		f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
		mu.Lock()
		allowed[f.key.Namespace], allowed[f.target] = i+1, i+1
		mu.Unlock()
	}
	for _, f := range fixtures {
		f.delete()
	}
	eventually(t, "the first operator to be stuck", func() error {
		mu.Lock()
		defer mu.Unlock()
		for _, f := range fixtures[:deployments-2] {
			if allowed[f.key.Namespace] > 0 {
				return fmt.Errorf("%s has %d writes left", f.key, allowed[f.key.Namespace])
			}
		}
		return nil
	})
	first.stop(t)

	second := &wire{}
	startOperator(t, second.tapped(apiServer), fast(), nil)
	for i, f := range fixtures {
		f.waitGone()
		if left := f.made(); len(left) > 0 {
			t.Errorf("after a crash at write %d these are left: %v", i+1, left)
		}
		if f.exists(&corev1.Namespace{}, "", f.target) {
			t.Errorf("after a crash at write %d the namespace is left", i+1)
		}
		if !sim.is(sim.uninstalled, f.target) {
			t.Errorf("after a crash at write %d the release was not uninstalled", i+1)
		}
		checkRemovalOrder(t, append(w.writes(f.key.Namespace, f.target)[createdBy(w, f):], second.writes(f.key.Namespace, f.target)...))
	}
}

// createdBy returns how many of the writes came before the deletion's first: all,
// where the crash came before it too.
func createdBy(w *wire, f *fixture) int {
	writes := w.writes(f.key.Namespace, f.target)
	for i, r := range writes {
		if strings.Contains(string(r.body), string(styrminv1.PhaseDeleting)) {
			return i
		}
	}
	return len(writes)
}

// TestO6SuspendedReleasesAreUninstalled: Flux drops a suspended one as it is.
func TestO6SuspendedReleasesAreUninstalled(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	sim := simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	eventually(t, "suspending the release", func() error {
		hr := &helmv2.HelmRelease{}
		f.exists(hr, f.target, "shop")
		hr.Spec.Suspend = true
		return f.client.Update(t.Context(), hr)
	})
	f.delete()
	f.waitGone()
	if !sim.is(sim.uninstalled, f.target) {
		t.Error("the suspended release was dropped without being uninstalled")
	}
}

// TestO6NothingWasMade: the deletion comes before there is anything to delete.
func TestO6NothingWasMade(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.target}}
	if err := f.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	f.delete()
	f.waitGone()
	namespace := &corev1.Namespace{}
	if !f.exists(namespace, "", f.target) || !namespace.DeletionTimestamp.IsZero() {
		t.Error("the deletion took a namespace that is not the deployment's")
	}
}

// TestCaseF01DeletedIsSeen: the phase stays for the time of a report.
func TestCaseF01DeletedIsSeen(t *testing.T) {
	opts := fast()
	opts.DeletedVisibleFor = 2 * time.Second
	startOperator(t, apiServer, opts, nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.delete()
	d = f.waitFor("i-1", styrminv1.PhaseDeleted, styrminv1.DisplayStateDeleted)
	since := apimeta.FindStatusCondition(d.Status.Conditions, styrminv1.ConditionPrerequisitesReady).LastTransitionTime
	f.waitGone()
	if seen := time.Since(since.Time); seen < opts.DeletedVisibleFor {
		t.Errorf("Deleted was to be seen for %s, want at least %s", seen, opts.DeletedVisibleFor)
	}
}

// TestCaseF03NamespaceStuckTerminating: the reason becomes the message.
func TestCaseF03NamespaceStuckTerminating(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	sim := simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	sim.set(sim.held, f.target, true)
	f.delete()
	eventually(t, "the namespace to be terminating", func() error {
		ns := &corev1.Namespace{}
		f.exists(ns, "", f.target)
		if ns.DeletionTimestamp.IsZero() {
			return errText("it is not")
		}
		return nil
	})
	for _, c := range []corev1.NamespaceCondition{
		{Type: corev1.NamespaceFinalizersRemaining, Reason: "SomeFinalizersRemain", Message: "example.test/hold in 1 resource instances"},
		{Type: corev1.NamespaceDeletionDiscoveryFailure, Reason: "DiscoveryFailed", Message: "metrics API down"},
	} {
		ns := &corev1.Namespace{}
		f.exists(ns, "", f.target)
		c.Status = corev1.ConditionTrue
		f.setStatus(ns, func() { ns.Status.Conditions = []corev1.NamespaceCondition{c} })
		eventually(t, "the reason to be the message", func() error {
			s := f.get().Status
			if s.Phase != styrminv1.PhaseDeleting || !strings.HasSuffix(s.Message, "is gone: "+c.Message) {
				return fmt.Errorf("it is %s: %s", s.Phase, s.Message)
			}
			return nil
		})
	}

	// Another deployment that wants the namespace waits until it is gone.
	next := sampleDeployment(f.key.Namespace, "next")
	next.Spec.TargetNamespace, next.Spec.DeploymentID = f.target, "another-id-"+f.key.Namespace
	g := &fixture{t: t, client: f.client, key: client.ObjectKeyFromObject(next), target: f.target}
	g.create(next)
	eventually(t, "the next one to wait", func() error {
		s := g.get().Status
		if s.Phase != styrminv1.PhaseCreatingPrerequisites || !strings.HasSuffix(s.Message, "which is being deleted: metrics API down") {
			return fmt.Errorf("it is %s: %s", s.Phase, s.Message)
		}
		return nil
	})

	sim.set(sim.held, f.target, false)
	f.touchIfThere(&corev1.Namespace{}, "", f.target)
	f.waitGone()
	g.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}

// TestCaseF03BlockedIsAnErrorAfterTheDeadline is what time makes of waiting.
func TestCaseF03BlockedIsAnErrorAfterTheDeadline(t *testing.T) {
	opts := Options{}.withDefaults()
	for name, tc := range map[string]struct {
		after      time.Duration
		wantState  styrminv1.DisplayState
		wantReason string
	}{
		"within the time of a release": {6 * time.Minute, styrminv1.DisplayStateDeleting, styrminv1.ReasonDeleting},
		"past it":                      {6*time.Minute + 2*time.Second, styrminv1.DisplayStateError, styrminv1.ReasonDeletionBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(&styrminv1.StyrminDeployment{}, noon.Add(tc.after))
			s.status = deletingStatus(s)
			got := waitingStatus(s, opts, nil, removal{waitingFor: "held", since: noon})
			reason := apimeta.FindStatusCondition(got.Conditions, styrminv1.ConditionReady).Reason
			if got.Phase != styrminv1.PhaseDeleting || got.DisplayState != tc.wantState || reason != tc.wantReason || got.Message != "held" {
				t.Errorf("status = %s, %s, %s, %q", got.Phase, got.DisplayState, reason, got.Message)
			}
		})
	}
}

// TestCaseF05FinalizerConflict: the removal of the finalizer meets a newer object.
func TestCaseF05FinalizerConflict(t *testing.T) {
	w := &wire{}
	admin := newClient(t, apiServer)
	f, d := newFixture(t, admin, "shop")
	var once sync.Once
	w.before = func(r request) (err error) {
		body := map[string]any{}
		if r.resource != "styrmindeployments" || json.Unmarshal(r.body, &body) != nil || strings.Contains(string(r.body), "finalizers") {
			return nil
		}
		once.Do(func() {
			changed := f.get()
			changed.Labels = map[string]string{"changed": "now"}
			err = admin.Update(t.Context(), changed)
		})
		return err
	}
	var conflicts atomic.Int32
	w.after = func(r request, code int) {
		if r.resource == "styrmindeployments" && code == http.StatusConflict {
			conflicts.Add(1)
		}
	}
	startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.delete()
	f.waitGone()
	if conflicts.Load() == 0 {
		t.Error("the removal of the finalizer met no conflict")
	}
}

// TestO6RemainingObjects: one that was made while the deletion looked is not being
// deleted yet.
func TestO6RemainingObjects(t *testing.T) {
	named := func(name string, deleted *metav1.Time) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: deleted}}
	}
	s := &scope{namespace: "target"}
	for name, tc := range map[string]struct {
		left []client.Object
		want removal
	}{
		"none": {nil, removed},
		"one that is held, since the first was deleted": {
			[]client.Object{named("a", &metav1.Time{Time: noon.Add(time.Second)}), named("b", &metav1.Time{Time: noon})},
			removal{waitingFor: "waiting until these are gone from target: Service a, Service b", since: noon},
		},
		"one that was made just now": {
			[]client.Object{named("a", nil)},
			removal{waitingFor: "waiting until these are gone from target: Service a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, remainingOf(s, scheme, tc.left), cmp.AllowUnexported(removal{})); diff != "" {
				t.Errorf("found differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestO6FinalizerOfAnotherOwner: a copy of the object was applied by someone,
// its finalizers included.
func TestO6FinalizerOfAnotherOwner(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	d.Finalizers = []string{styrminv1.Finalizer}
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.delete()
	f.waitGone()
}

// TestO6ReleaseThatIsGoneAlready: someone deleted it, and Flux is away since.
func TestO6ReleaseThatIsGoneAlready(t *testing.T) {
	first := startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	first.stop(t)
	hr := &helmv2.HelmRelease{}
	f.exists(hr, f.target, "shop")
	if err := f.client.Delete(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the release to be gone", func() error {
		if f.exists(&helmv2.HelmRelease{}, f.target, "shop") {
			return errText("it is not")
		}
		return nil
	})
	f.delete()
	startOperator(t, apiServer, fast(), nil)
	f.waitGone()
}

// TestO6ErrorIsTheMessage: the API server refuses to delete, after the steps before
// went well, and for long.
func TestO6ErrorIsTheMessage(t *testing.T) {
	var refused atomic.Bool
	refused.Store(true)
	w := &wire{before: func(r request) error {
		if r.verb == "delete" && r.resource == "services" && refused.Load() {
			return errText("the webhook says no")
		}
		return nil
	}}
	opts := fast()
	opts.ProgressGrace = time.Second
	startOperator(t, w.tapped(apiServer), opts, nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	d.Spec.HelmRelease.Timeout = &metav1.Duration{Duration: 5 * time.Second}
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.delete()
	eventually(t, "the error to be the message", func() error {
		s := f.get().Status
		if s.Phase != styrminv1.PhaseDeleting || !strings.HasSuffix(s.Message, "the webhook says no") {
			return fmt.Errorf("it is %s: %s", s.Phase, s.Message)
		}
		return nil
	})
	eventually(t, "the error that lasts to count", func() error {
		if s := f.get().Status; s.DisplayState != styrminv1.DisplayStateError || !strings.HasSuffix(s.Message, "the webhook says no") {
			return fmt.Errorf("it is %s: %s", s.DisplayState, s.Message)
		}
		return nil
	})
	refused.Store(false)
	f.waitGone()
}

// TestO6OneErrorLateInADeletionBlocksNothing: only errors that last do.
func TestO6OneErrorLateInADeletionBlocksNothing(t *testing.T) {
	opts, errs := Options{}.withDefaults(), &errorSpells{}
	at := func(after time.Duration) *scope {
		return newScope(&styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Name: "shop", DeletionTimestamp: &metav1.Time{Time: noon}}}, noon.Add(after))
	}
	overdue := func(after time.Duration) bool {
		s := at(after)
		return isOverdue(s, opts, removal{waitingFor: "etcd has no leader", since: errs.since(s)})
	}
	if overdue(time.Hour) {
		t.Error("one error blocks the deletion")
	}
	if !overdue(2 * time.Hour) {
		t.Error("errors for an hour do not block the deletion")
	}
	errs.forget(client.ObjectKey{Name: "shop"})
	if overdue(3 * time.Hour) {
		t.Error("an error after it went well again blocks the deletion")
	}
}

// TestO6StuckReleaseIsTheMessage: Flux cannot uninstall, and says why.
func TestO6StuckReleaseIsTheMessage(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	sim := simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	sim.set(sim.manual, f.target, true)
	f.delete()
	hr := &helmv2.HelmRelease{}
	eventually(t, "the release to be deleted", func() error {
		f.exists(hr, f.target, "shop")
		if hr.DeletionTimestamp.IsZero() {
			return errText("it is not")
		}
		apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: hr.Generation,
			Reason: helmv2.UninstallFailedReason, Message: "a ConfigMap is held",
		})
		return f.client.Status().Update(t.Context(), hr)
	})
	eventually(t, "Flux's reason to be the message", func() error {
		s := f.get().Status
		if s.Phase != styrminv1.PhaseDeleting || !strings.HasSuffix(s.Message, "a ConfigMap is held") {
			return fmt.Errorf("it is %s: %s", s.Phase, s.Message)
		}
		return nil
	})
	for _, obj := range []client.Object{&corev1.Service{}, &corev1.Namespace{}} {
		namespace, name := f.target, "web"
		if _, ok := obj.(*corev1.Namespace); ok {
			namespace, name = "", f.target
		}
		if !f.exists(obj, namespace, name) || !obj.GetDeletionTimestamp().IsZero() {
			t.Errorf("%T went before the release", obj)
		}
	}
	sim.set(sim.manual, f.target, false)
	f.touchIfThere(&helmv2.HelmRelease{}, f.target, "shop")
	f.waitGone()
}
