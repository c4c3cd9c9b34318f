// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/styrmin/styrmin/sdk"
	"github.com/styrmin/styrmin/sdk/sdktest"
)

func TestApplyCreatesThenUpdatesThenChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.agent.Work(t)
	path := w.file("shop.yaml", shop("shop", "prod", "2.4.0"))
	created := w.run(ExitOK, "deployments", "apply", "-f", path, "--wait")
	if got, want := created.out.String(), "deployment/shop created\ndeployment/shop is RUNNING\n"; got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
	w.wantIn("the transcript", created.err.String(),
		"deployment/shop: Write the StyrminDeployment: succeeded", "deployment/shop: Wait for the deployment to be ready: succeeded",
		"deployment/shop: RUNNING")
	again := w.run(ExitOK, "deployments", "apply", "-f", path)
	if got, want := again.out.String(), "deployment/shop unchanged\n"; got != want {
		t.Errorf("the second apply printed %q, want %q", got, want)
	}
	// G01: there is no task, and what runs already is not waited for.
	again = w.run(ExitOK, "deployments", "apply", "-f", path, "--wait", "--timeout", "0")
	if got, want := again.out.String(), "deployment/shop unchanged\ndeployment/shop is RUNNING\n"; got != want {
		t.Errorf("the waiting apply printed %q, want %q", got, want)
	}
	w.in = strings.NewReader(shop("shop", "prod", "2.4.1"))
	updated := w.run(ExitOK, "deployments", "apply", "-f", "-", "--wait")
	if got, want := updated.out.String(), "deployment/shop configured\ndeployment/shop is RUNNING\n"; got != want {
		t.Errorf("the update printed %q, want %q", got, want)
	}
}

func TestApplyAppliesSeveralDocumentsAndFiles(t *testing.T) {
	w := newWorld(t)
	w.agent.Work(t)
	two := w.file("two.yaml", shop("shop", "prod", "1")+"---\n# nothing here\n---\n"+shop("shop", "test", "1"))
	other := w.file("other.json", `{"apiVersion": "styrmin.io/v1alpha1", "kind": "StyrminDeployment", "metadata": {"name": "blog"},
		"spec": {"environment": "prod", "helmRelease": {"releaseName": "blog",
		"chart": {"repository": "oci://charts.example.com", "name": "blog", "version": "1"}}}}`)
	applied := w.run(ExitOK, "deployments", "apply", "-f", two, "-f", other, "--wait", "-o", "json")
	var made []struct {
		Deployment, Change string
		Succeeded          bool
		Task               *sdk.Task
	}
	if err := json.Unmarshal([]byte(applied.out.String()), &made); err != nil {
		t.Fatalf("%v: %s", err, applied.out.String())
	}
	if len(made) != 3 || made[2].Deployment != "blog" {
		t.Fatalf("it made %+v", made)
	}
	for _, change := range made {
		if change.Change != "created" || !change.Succeeded || change.Task.Result != sdk.ResultSucceeded {
			t.Errorf("%+v", change)
		}
	}
}

// TestApplyChecksAllDocumentsBeforeTheFirstWrite has a good document before a
// bad one.
func TestApplyChecksAllDocumentsBeforeTheFirstWrite(t *testing.T) {
	w := newWorld(t)
	bad := strings.Replace(shop("blog", "prod", "1"), "replicasValue", "replicaValue", 1)
	path := w.file("both.yaml", shop("shop", "prod", "1")+"---\n"+bad)
	refused := w.run(ExitUsage, "deployments", "apply", "-f", path)
	w.wantIn("the error", refused.err.String(), path+`:35: unknown field "spec.components[0].replicaValue": did you mean replicasValue?`)
	if listed := w.run(ExitOK, "deployments", "list", "-o", "name"); listed.out.String() != "" {
		t.Errorf("it created %s", listed.out.String())
	}
}

// TestApplySaysWhereTheFileHasWhatTheServerRefuses: what only the server knows to
// be wrong is told with the file's line, too.
func TestApplySaysWhereTheFileHasWhatTheServerRefuses(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", strings.Replace(shop("shop", "prod", "1"), "stopComponents: [server]", "stopComponents: [web]", 1))
	refused := w.run(ExitError, "deployments", "apply", "-f", path)
	w.wantIn("the error", refused.err.String(), path+":20: spec.hooks.upgrade.pre[0].stopComponents[0]: ", `the deployment has no component "web"`, "INVALID_INPUT")
}

// withoutHooks is a manifest of shop without its last two lines.
func withoutHooks(manifest string) string {
	before, _, _ := strings.Cut(manifest, "  hooks:\n")
	return before
}

// TestApplyOfAnotherVersionAloneIsAnUpgrade: its hooks run, whether they have run
// before or not. Where they do not run although the version changes, it says so.
func TestApplyOfAnotherVersionAloneIsAnUpgrade(t *testing.T) {
	w := newWorld(t)
	w.deployed()
	for _, version := range []string{"2.5.0", "2.6.0"} {
		upgraded := w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", version)), "--wait")
		if want := "deployment/shop configured\ndeployment/shop is RUNNING\n"; upgraded.out.String() != want {
			t.Errorf("it printed %q, want %q", upgraded.out.String(), want)
		}
		w.wantIn("the transcript", upgraded.err.String(), "Pre-upgrade hook: stop server: succeeded", "Post-upgrade hook: start server: succeeded")
		if strings.Contains(upgraded.err.String(), "Warning") {
			t.Errorf("it warned: %s", upgraded.err.String())
		}
	}
	more := strings.Replace(shop("shop", "prod", "2.7.0"), "replicas: 3", "replicas: 4", 1)
	for name, test := range map[string]struct {
		manifest string
		warns    bool
	}{
		"with hooks":    {more, true},
		"without hooks": {withoutHooks(strings.ReplaceAll(more, "2.7.0", "2.8.0")), false},
	} {
		updated := w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", test.manifest), "--wait")
		if warned := strings.Contains(updated.err.String(), "shop.yaml:7: the hooks of upgrades do not run"); warned != test.warns {
			t.Errorf("%s: it warned: %t: %s", name, warned, updated.err.String())
		}
		if strings.Contains(updated.err.String(), "hook: ") {
			t.Errorf("%s: hooks ran: %s", name, updated.err.String())
		}
	}
}

// TestApplyOfAnotherVersionIsNoUpgradeWhileOthersAreAtWork: an upgrade would keep
// what they change.
func TestApplyOfAnotherVersionIsNoUpgradeWhileOthersAreAtWork(t *testing.T) {
	w := newWorld(t)
	w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", "1")))
	w.agent.Claim(t).CarryOut()
	w.run(ExitOK, "deployments", "scale", "shop", "server=7")
	updated := w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", "2")))
	w.wantIn("the warning", updated.err.String(), "Warning: ", "the hooks of upgrades do not run, since task ")
	w.agent.Claim(t).CarryOut()
	w.agent.Claim(t).CarryOut()
	got := w.run(ExitOK, "deployments", "get", "shop")
	w.wantIn("the deployment", got.out.String(), "3 replicas")
}

func TestAFailedChangeEndsWithItsReasonAndThePods(t *testing.T) {
	w := newWorld(t)
	w.deployed()
	path := w.file("broken.yaml", withoutHooks(shop("shop", "prod", sdktest.BrokenVersion)))
	failed := w.run(ExitFailed, "deployments", "apply", "-f", path, "--wait")
	w.wantIn("the error", failed.err.String(),
		`Error: deployment/shop: step "Install or upgrade the HelmRelease" failed: Helm upgrade failed: timed out waiting for the condition`,
		"pod prod-shop-server-0: container server ImagePullBackOff")
	if n := strings.Count(failed.err.String(), "Error:"); n != 1 {
		t.Errorf("the error is told %d times:\n%s", n, failed.err.String())
	}
	got := w.run(ExitOK, "deployments", "get", "shop")
	w.wantIn("the deployment", got.out.String(), "FAILED for ", "Reason:", "✘ Install or upgrade the HelmRelease", "Unhealthy pods:", "ImagePullBackOff")
}

func TestAWaitThatALaterChangeSupersedesSaysSo(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	first := w.start("deployments", "apply", "-f", path, "--wait")
	first.until(&first.err, "deployment/shop: PENDING")
	flow := w.agent.Claim(t)
	flow.Write()
	flow.Finish()
	flow.Report("CreatingHelmRelease", "Deploying", "")
	first.until(&first.err, "Install or upgrade the HelmRelease: running")
	w.run(ExitOK, "deployments", "scale", "shop", "server=5")
	w.agent.Claim(t).CarryOut()
	if code := first.wait(); code != ExitSuperseded {
		t.Errorf("it ended with %d, want %d", code, ExitSuperseded)
	}
	w.wantIn("the error", first.err.String(), "was superseded by a later task of the deployment")
}

func TestAWaitThatIsTooShortSaysHowToGoOn(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	short := w.run(ExitTimeout, "deployments", "apply", "-f", path, "--wait", "--timeout", "50ms")
	w.wantIn("the error", short.err.String(), "Error: deployment/shop: wait timeout", "The change can still finish")
	id := regexp.MustCompile(`styrminctl tasks wait (\S+)`).FindStringSubmatch(short.err.String())
	if id == nil {
		t.Fatalf("it does not say how to wait again: %s", short.err.String())
	}
	w.agent.Work(t)
	again := w.run(ExitOK, "tasks", "wait", id[1])
	if got, want := again.out.String(), "deployment/shop is RUNNING\n"; got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
}

func TestCtrlCSaysThatTheChangeGoesOn(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	waiting := w.start("deployments", "apply", "-f", path, "--wait")
	waiting.until(&waiting.err, "deployment/shop: PENDING")
	waiting.cancel()
	if code := waiting.wait(); code != ExitInterrupted {
		t.Errorf("it ended with %d, want %d", code, ExitInterrupted)
	}
	w.wantIn("what it says", waiting.err.String(), "the change goes on", "styrminctl tasks wait ")
}

func TestARestartedServerDoesNotEndAWait(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	waiting := w.start("deployments", "apply", "-f", path, "--wait")
	waiting.until(&waiting.err, "deployment/shop: PENDING")
	w.server.Suspend(t)
	waiting.until(&waiting.err, "trying again: ")
	w.server.Resume(t)
	w.agent.Work(t)
	if code := waiting.wait(); code != ExitOK {
		t.Errorf("it ended with %d:\n%s", code, waiting.err.String())
	}
}

func TestATokenFileThatIsBeingReplacedDoesNotEndAWait(t *testing.T) {
	w := newWorld(t)
	file := w.file("token", w.server.AdminToken)
	replace := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	delete(w.env, "STYRMIN_TOKEN")
	w.env["STYRMIN_TOKEN_FILE"] = file
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	waiting := w.start("deployments", "apply", "-f", path, "--wait")
	waiting.until(&waiting.err, "deployment/shop: PENDING")
	replace("")
	waiting.until(&waiting.err, "trying again: ")
	replace(w.server.AdminToken)
	w.agent.Work(t)
	if code := waiting.wait(); code != ExitOK {
		t.Errorf("it ended with %d:\n%s", code, waiting.err.String())
	}
	w.wantIn("the transcript", waiting.err.String(), "the token source gave no token: --token-file: "+file+" is empty")
	replace("")
	w.run(ExitUsage, "deployments", "list")
}

func TestEveryChangeCanBeAskedForAndWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.deployed()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"scale", "shop", "server=2"}, "scaling"},
		{[]string{"stop", "shop", "server"}, "stopping"},
		{[]string{"start", "shop", "server"}, "starting"},
		{[]string{"upgrade", "shop", "2.5.0"}, "upgrading"},
		{[]string{"run-job", "shop", "migrate"}, "running job migrate"},
	} {
		got := w.run(ExitOK, append(append([]string{"deployments"}, test.args...), "--wait")...)
		if want := "deployment/shop " + test.want + "\ndeployment/shop is RUNNING\n"; got.out.String() != want {
			t.Errorf("%v printed %q, want %q", test.args, got.out.String(), want)
		}
	}
	same := w.run(ExitOK, "deployments", "scale", "shop", "server=2")
	if want := "deployment/shop unchanged\n"; same.out.String() != want {
		t.Errorf("a scaling that changes nothing printed %q, want %q", same.out.String(), want)
	}
	name := w.run(ExitOK, "deployments", "scale", "shop", "server=4", "-o", "name")
	if !strings.HasPrefix(name.out.String(), "task/") {
		t.Errorf("-o name printed %q", name.out.String())
	}
	w.run(ExitOK, "tasks", "wait", strings.TrimSpace(name.out.String()))
	task := w.run(ExitOK, "tasks", "get", strings.TrimSpace(name.out.String()))
	w.wantIn("the task", task.out.String(), ": scale, succeeded after ", "✔ Wait for the deployment to be ready")
	job := w.run(ExitError, "deployments", "run-job", "shop", "none")
	w.wantIn("the error", job.err.String(), `the deployment has no job "none"`)
	w.run(ExitUsage, "deployments", "scale", "shop", "server=many")
	w.run(ExitUsage, "deployments", "scale", "shop", "server=1", "server=2")
}

// TestAWaitForWhatIsThereAlreadyTellsHowThatIs: a change that ended before it wrote
// anything says nothing about it, nor do jobs, however many.
func TestAWaitForWhatIsThereAlreadyTellsHowThatIs(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", withoutHooks(shop("shop", "prod", "2.4.0")))
	apply := []string{"deployments", "apply", "-f", path, "--wait", "--timeout", "0"}
	w.run(ExitOK, apply[:4]...)
	rollout := w.agent.Claim(t)
	rollout.CarryOut()
	w.run(ExitOK, "deployments", "upgrade", "shop", "2.5.0")
	w.agent.Claim(t).Abort("the hook failed")
	if got, want := w.run(ExitOK, apply...).out.String(), "deployment/shop unchanged\ndeployment/shop is RUNNING\n"; got != want {
		t.Errorf("after an upgrade that wrote nothing it printed %q, want %q", got, want)
	}

	for range manyTasks {
		w.run(ExitOK, "deployments", "run-job", "shop", "migrate")
	}
	if got, want := w.run(ExitOK, apply...).out.String(), "deployment/shop unchanged\ndeployment/shop is RUNNING\n"; got != want {
		t.Errorf("beside many jobs it printed %q, want %q", got, want)
	}
	rollout.Report("Ready", "Error", "it crashes")
	w.wantIn("the error", w.run(ExitFailed, apply...).err.String(), "Error: deployment/shop: deployment status is failed, expected running")
	rollout.Report("CreatingHelmRelease", "Deploying", "")
	w.wantIn("the error", w.run(ExitTimeout, apply...).err.String(), "Error: deployment/shop: wait timeout")
}

func TestDeleteNeedsYesWhereNobodyCanBeAsked(t *testing.T) {
	w := newWorld(t)
	w.deployed()
	refused := w.run(ExitUsage, "deployments", "delete", "shop")
	w.wantIn("the error", refused.err.String(), "--yes")
	deleted := w.run(ExitOK, "deployments", "delete", "shop", "--yes", "--wait")
	if want := "deployment/shop deleting\ndeployment/shop is DELETED\n"; deleted.out.String() != want {
		t.Errorf("it printed %q, want %q", deleted.out.String(), want)
	}
	gone := w.run(ExitNotFound, "deployments", "get", "shop")
	w.wantIn("the error", gone.err.String(), `there is no deployment "shop"`)
	listed := w.run(ExitOK, "deployments", "list", "--status", "deleted", "-o", "name")
	if want := "deployment/shop\n"; listed.out.String() != want {
		t.Errorf("it listed %q, want %q", listed.out.String(), want)
	}
}

// TestWhatWasNeverWrittenIsDeletedAtOnce: no agent is needed for it.
func TestWhatWasNeverWrittenIsDeletedAtOnce(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	waiting := w.start("deployments", "apply", "-f", path, "--wait")
	waiting.until(&waiting.err, "deployment/shop: PENDING")
	deleted := w.run(ExitOK, "deployments", "delete", "shop", "--yes", "--wait")
	if want := "deployment/shop deleting\ndeployment/shop is DELETED\n"; deleted.out.String() != want {
		t.Errorf("it printed %q, want %q", deleted.out.String(), want)
	}
	if code := waiting.wait(); code != ExitSuperseded {
		t.Errorf("the creation ended with %d: %s", code, waiting.err.String())
	}
}
