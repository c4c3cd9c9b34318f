// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// noticeable is how long after a failure that the operator has found its wait may
// end: the next report, of which one may fail on a busy machine, and the next look.
const noticeable = 25 * time.Second

// TestW1W3AWaitTellsWhatBecameOfTheChange changes deployments through styrminctl
// and waits for that: an upgrade whose hooks stop and start a component, an image
// that cannot be pulled, a change that a later one supersedes, and a deletion. A
// second time, the manager and the server die in the middle of all of them.
func TestW1W3AWaitTellsWhatBecameOfTheChange(t *testing.T) {
	hooked := newShop(t, "hooked", "2.4.1", "registry.example/shop-server:1")
	kept := newShop(t, "kept", "2.4.1", "registry.example/shop-server:slow-1")
	t.Run("undisturbed", func(t *testing.T) {
		together(t, nil, map[string]func(*testing.T, *participant){
			"an upgrade": func(t *testing.T, middle *participant) {
				runCtl(t, exitOK, "deployments", "apply", "-f", hooked.file(t), "--wait")
				hooked.nextTask(t, "CREATE")
				hooked.version = "2.5.0"
				hooked.upgrade(t, middle, "deployments", "apply", "-f", hooked.file(t), "--wait")
			},
			"an image that cannot be pulled, and a deletion": func(t *testing.T, middle *participant) {
				broken := newShop(t, "broken", "2.4.1", "registry.example/does-not-exist:1")
				broken.fail(t, middle)
				broken.delete(t, middle)
			},
			"a later change": kept.supersede,
		})
	})
	if t.Failed() {
		return
	}
	t.Run("while the manager and the server die in the middle of", func(t *testing.T) {
		together(t, &disturbance{}, map[string]func(*testing.T, *participant){
			"an upgrade": func(t *testing.T, middle *participant) {
				hooked.version = "2.4.1"
				hooked.upgrade(t, middle, "deployments", "upgrade", hooked.name, hooked.version, "--wait")
				deleteAfterwards(t, hooked.name) // While the others go on.
			},
			"an image that cannot be pulled": func(t *testing.T, middle *participant) {
				unpullable := newShop(t, "unpullable", "2.4.1", "registry.example/does-not-exist:1")
				middle.awaitOthers(t, 1) // It has failed half a minute after it began.
				unpullable.fail(t, middle)
			},
			"a later change": func(t *testing.T, middle *participant) {
				middle.awaitOthers(t, 0)
				newShop(t, "later", "2.4.1", "registry.example/shop-server:slow-1").supersede(t, middle)
			},
			"a deletion": kept.delete,
		})
	})
}

// waitsEnvironment is that of the shops of these tests.
const waitsEnvironment = "waits"

// shop is a deployment that styrminctl applies: the sample with one server pod.
type shop struct {
	name, version, image string
	// task is the newest that was seen.
	task string
}

// newShop returns a shop that does not exist yet and is gone after the test.
func newShop(t *testing.T, name, version, image string) *shop {
	t.Helper()
	deleteAfterwards(t, name)
	return &shop{name: name, version: version, image: image}
}

// file writes the shop as it is now.
func (s *shop) file(t *testing.T) string {
	t.Helper()
	return writeFile(t, s.name+".yaml", strings.NewReplacer("NAME", s.name, "ENVIRONMENT", waitsEnvironment, "VERSION", s.version,
		"CHARTS", sys.ChartsURL, "IMAGE", s.image).Replace(`apiVersion: styrmin.io/v1alpha1
kind: StyrminDeployment
metadata:
  name: NAME
spec:
  environment: ENVIRONMENT
  version: VERSION
  helmRelease:
    releaseName: shop
    chart: {repository: "CHARTS", name: shop, version: VERSION}
    values: {server: {image: "IMAGE"}}
    timeout: 1m
  components:
  - name: server
    replicas: 1
    replicasValue: server.replicas
    selector: {matchLabels: {app.kubernetes.io/component: server}}
  - name: database
    replicas: 0
    replicasValue: database.replicas
    selector: {matchLabels: {app.kubernetes.io/component: database}}
  hooks:
    upgrade: {pre: [{stopComponents: [server]}], post: [{startComponents: [server]}]}
`))
}

// object is the name of its StyrminDeployment, and of its namespace.
func (s *shop) object() string { return waitsEnvironment + "-" + s.name }

// id asks the server for its id.
func (s *shop) id(t *testing.T) string {
	t.Helper()
	var id string
	eventually(t, time.Minute, s.name+" is declared", func(ctx context.Context) error {
		deployment, err := sys.Deployment(ctx, s.name)
		if err == nil && deployment == nil {
			err = errors.New("it is not there")
		}
		if err == nil {
			id = deployment.ID
		}
		return err
	})
	return id
}

// nextTask waits for a new task of the shop, which must be of that kind.
func (s *shop) nextTask(t *testing.T, kind string) string {
	t.Helper()
	id, answer := s.id(t), struct {
		Deployment struct{ Tasks []struct{ ID, Kind string } }
	}{}
	eventually(t, time.Minute, s.name+" has a new task "+kind, func(ctx context.Context) error {
		err := sys.Query(ctx, `query ($id: ID!) { deployment(id: $id) { tasks(first: 1) { id kind } } }`, map[string]any{"id": id}, &answer)
		if tasks := answer.Deployment.Tasks; err == nil && (len(tasks) == 0 || tasks[0].Kind != kind || tasks[0].ID == s.task) {
			err = fmt.Errorf("it has %v", tasks)
		}
		return err
	})
	s.task = answer.Deployment.Tasks[0].ID
	return s.task
}

// upgrade changes the version of the running shop by a command that waits. The
// server is to show RUNNING, and the wait to end, only when the upgrade's task has
// finished.
func (s *shop) upgrade(t *testing.T, middle *participant, args ...string) {
	t.Helper()
	upgrade := startCtl(t, args...)
	task := s.nextTask(t, "UPDATE_VERSION")
	eventually(t, time.Minute, "the hook has written that the server is to stop", func(ctx context.Context) error {
		d := &styrminv1.StyrminDeployment{}
		if err := sys.Client.Get(ctx, client.ObjectKey{Namespace: sampleNamespace, Name: s.object()}, d); err != nil {
			return err
		}
		if d.Spec.Components[0].IsRunning() {
			return errors.New("it is to run")
		}
		return nil
	})
	early := watchForRunning(t, s.id(t), task, true)
	if middle == nil {
		checkExitCodes(t, s, task)
	}
	before := early()
	middle.isThere(upgrade)
	middle.goesOn()
	early = watchForRunning(t, s.id(t), task, true)
	upgrade.wait(exitOK)
	read, err := readTask(t.Context(), task)
	if err != nil || read.Status != "SUCCESS" || read.Result != "SUCCEEDED" {
		t.Errorf("the wait has ended, and the task is %+v, %v", read, err)
	}
	for _, step := range read.Steps {
		if step.Kind == "HOOK" && (len(step.Tasks) != 1 || step.Tasks[0].Result != "SUCCEEDED") {
			t.Errorf("step %q has started %+v", step.Name, step.Tasks)
		}
	}
	if err := storeHas(s.id(t), "RUNNING", s.version)(t.Context()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(before, early()); err != nil {
		t.Error(err)
	}
}

// checkExitCodes tries those that no story ends with, while a task goes on.
func checkExitCodes(t *testing.T, s *shop, task string) {
	t.Helper()
	runCtl(t, exitTimeout, "tasks", "wait", task, "--timeout", "0")
	waiting := startCtl(t, "tasks", "wait", "task/"+task)
	waiting.until("deployment/" + s.name + ": ")
	waiting.interrupt()
	waiting.wait(exitInterrupted)
	runCtl(t, exitError, "deployments", "run-job", s.name, "none")
	runCtl(t, exitUsage, "deployments", "apply", "-f", writeFile(t, "wrong.yaml", "kind: Shop\n"))
	runCtl(t, exitNotFound, "deployments", "get", "none")
}

// fail applies the shop, whose image cannot be pulled. The wait is to end soon
// after the operator has found that, and to name the pod.
func (s *shop) fail(t *testing.T, middle *participant) {
	t.Helper()
	found := make(chan time.Time, 1)
	watched, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { found <- s.failure(watched) }()
	apply := startCtl(t, "deployments", "apply", "-f", s.file(t), "--wait")
	apply.until("Install or upgrade the HelmRelease: running")
	middle.isThere(apply)
	middle.goesOn()
	apply.wait(exitFailed)
	want := regexp.MustCompile(`\nError: deployment/` + s.name +
		`: step "(Install or upgrade the HelmRelease|Wait for the deployment to be ready)" failed: .*pod \S*server\S*: container server (ErrImagePull|ImagePullBackOff)`)
	if !want.MatchString(apply.err.String()) {
		t.Errorf("it does not name the step and the pod:\n%s", apply.err.String())
	}
	stop()
	took := apply.ended.Sub(<-found)
	t.Logf("the wait has ended %.1f s after the operator's failure", took.Seconds())
	if took > noticeable {
		t.Errorf("the wait has ended %s after the operator's failure, want at most %s", took, noticeable)
	}
	onPage := s.watch(t)
	onPage.hasStatus("FAILED")
	onPage.shows("ImagePullBackOff")
}

// failure waits until the operator says that the shop has failed, and returns when
// that was seen; the zero time where ctx ends before.
func (s *shop) failure(ctx context.Context) time.Time {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		d := &styrminv1.StyrminDeployment{}
		err := sys.Client.Get(ctx, client.ObjectKey{Namespace: sampleNamespace, Name: s.object()}, d)
		if err == nil && (d.Status.Phase == styrminv1.PhaseFailed || d.Status.DisplayState == styrminv1.DisplayStateError) {
			return time.Now()
		}
		select {
		case <-ctx.Done():
			return time.Time{}
		case <-ticker.C:
		}
	}
}

// supersede applies the shop, and in the middle of that a later change.
func (s *shop) supersede(t *testing.T, middle *participant) {
	t.Helper()
	first := startCtl(t, "deployments", "apply", "-f", s.file(t), "--wait")
	first.until("Install or upgrade the HelmRelease: running")
	task := s.nextTask(t, "CREATE")
	middle.isThere(first)
	s.image = "registry.example/shop-server:2"
	second := startCtl(t, "deployments", "apply", "-f", s.file(t), "--wait")
	s.nextTask(t, "UPDATE")
	middle.goesOn()
	first.wait(exitSuperseded)
	want := fmt.Sprintf("\nError: deployment/%s: task %s was superseded by a later task of the deployment\n", s.name, task)
	if got := first.err.String(); !strings.HasSuffix(got, want) {
		t.Errorf("it told:\n%swant at its end:\n%s", got, want)
	}
	second.wait(exitOK)
	onPage := s.watch(t)
	onPage.hasStatus("RUNNING")
	onPage.shows("SUPERSEDED")
}

// watch opens the page of the shop.
func (s *shop) watch(t *testing.T) *page {
	t.Helper()
	d, err := sys.Deployment(t.Context(), s.name)
	if err != nil || d == nil {
		t.Fatalf("the server has no deployment %s: %v", s.name, err)
	}
	return watchPage(t, d.ID)
}

// delete deletes the shop. The wait is to last as long as its namespace does, which
// something in it holds for a while.
func (s *shop) delete(t *testing.T, middle *participant) {
	t.Helper()
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.object(), Name: "held", Finalizers: []string{"test.styrmin.io/hold"}}}
	if err := sys.Client.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	release := func(ctx context.Context) error {
		err := sys.Client.Patch(ctx, held, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`)))
		return client.IgnoreNotFound(err)
	}
	afterwards(t, "what holds the namespace", release)
	deletion := startCtl(t, "deployments", "delete", s.name, "--yes", "--wait")
	isTerminating := func(object client.Object) func(context.Context) error {
		return func(ctx context.Context) error {
			err := sys.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
			if err == nil && object.GetDeletionTimestamp() == nil {
				err = errors.New("it is not")
			}
			return err
		}
	}
	eventually(t, 2*time.Minute, "the StyrminDeployment is being deleted",
		isTerminating(&styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: sampleNamespace, Name: s.object()}}))
	middle.isThere(deletion)
	middle.goesOn()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.object()}}
	eventually(t, 2*time.Minute, "the namespace is being deleted", isTerminating(namespace))
	since := reported(t)
	eventually(t, 2*time.Minute, "the agent has reported that", func(ctx context.Context) error {
		last, err := sys.LastReport(ctx)
		if err == nil && last.Sub(since) < 8*time.Second {
			err = fmt.Errorf("the last report was at %s", last)
		}
		return err
	})
	if deletion.hasEnded() {
		t.Errorf("the wait has ended before the namespace was gone:\n%s", deletion.err.String())
	}
	if err := release(t.Context()); err != nil {
		t.Fatal(err)
	}
	deletion.wait(exitOK)
	if err := sys.Client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); !apierrors.IsNotFound(err) {
		t.Errorf("the wait has ended, and the namespace is still there: %v, %v", namespace.Status, err)
	}
}

// reported is when the agent reported last, once it does.
func reported(t *testing.T) (last time.Time) {
	t.Helper()
	eventually(t, time.Minute, "the server tells of the agent's reports", func(ctx context.Context) (err error) {
		last, err = sys.LastReport(ctx)
		return err
	})
	return last
}
