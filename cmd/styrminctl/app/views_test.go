// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/sdk"
)

// noon is now, in the tests of what is printed.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// printing is a program that prints to a buffer at noon.
func printing() (a *app, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	return &app{
		Environment: Environment{Out: out, Err: out, LookupEnv: func(string) (string, bool) { return "", false }},
		clock:       func() time.Time { return noon },
	}, out
}

var testClusters = clusters{
	{ID: "c-1", Name: "production", UID: "uid-1", AgentVersion: "v1.0.0", LastReportAt: ago(3 * time.Second), Pods: 12, Deployments: 3},
	{ID: "c-2", Name: "test"},
}

func testDeployments() []sdk.Deployment {
	return []sdk.Deployment{
		{
			ID: "d-1", Name: "shop", ClusterID: "c-1", Environment: "prod", Version: "2.4.1", Status: sdk.StatusRunning,
			ManagedBy: sdk.ManagedByServer, StatusSince: ago(4 * time.Hour), LastReportAt: ago(3 * time.Second),
			Observed: &sdk.Observed{Components: []sdk.Component{{Name: "server", Desired: 3, Ready: 3}, {Name: "database", Desired: 1, Ready: 1}}},
		},
		{
			ID: "d-2", Name: "a-deployment-with-a-long-name", ClusterID: "c-1", Environment: "prod", Version: "9.9.9", Status: sdk.StatusFailed,
			ManagedBy: sdk.ManagedByServer, StatusSince: ago(90 * time.Second), LastReportAt: ago(3 * time.Second),
			// Text from a cluster, which a terminal would obey.
			StatusMessage: "Helm upgrade failed:\n\x1b[2J\x1b]0;owned\x07 timed out waiting for the condition, and for much else",
			Instance: &sdk.Instance{ID: "i-9", Version: "9.9.9", Spec: []byte(`{"components": [
				{"name": "server", "replicas": 3}, {"name": "database"}, {"name": "mailer", "replicas": 2, "running": false}]}`)},
			Observed: &sdk.Observed{
				InstanceID: "i-9", Phase: "Failed", DisplayState: "Error", Components: []sdk.Component{
					{Name: "server", Desired: 3, Ready: 1, State: "Error"}, {Name: "mailer", State: "Stopped"},
					{Name: "old", Desired: 0, Ready: 1, State: "Progressing"},
				},
			},
		},
		{ID: "d-3", Name: "platform", ClusterID: "c-2", Status: sdk.StatusPending, ManagedBy: sdk.ManagedByCluster, StatusSince: ago(0)},
	}
}

func testPods() []sdk.Pod {
	return []sdk.Pod{
		{
			Name: "shop-server-0", Namespace: "prod-shop", Component: "server", Node: "node-1", Status: "ImagePullBackOff",
			Message: "Back-off pulling image \"registry.example/shop-server:9.9.9\": not found", TotalContainers: 2, ReadyContainers: 1,
			Restarts: 4, CreatedAt: ago(5 * time.Minute),
			Containers: []sdk.Container{
				{Name: "proxy", State: "RUNNING", Reason: "Error"},
				{Name: "server", State: "WAITING", Reason: "ImagePullBackOff", Message: "no tag 9.9.9"},
			},
		},
		{Name: "shop-server-1", Namespace: "prod-shop", Status: "ContainerCreating", TotalContainers: 2, CreatedAt: ago(3 * time.Second)},
	}
}

// testTask is an upgrade whose first hook has succeeded, and whose second attempt
// of a step runs while the agent is silent.
func testTask() *sdk.Task {
	step := func(name string, status sdk.StepStatus, from, to time.Duration) sdk.Step {
		s := sdk.Step{ID: name, Name: name, Kind: sdk.StepOfFlow, Status: status}
		if status != sdk.StepPending {
			s.StartedAt = ago(from)
			s.Attempts = []sdk.Attempt{{Number: 1, Status: status, StartedAt: ago(from)}}
		}
		if status == sdk.StepSucceeded || status == sdk.StepFailed {
			s.EndedAt = ago(to)
		}
		return s
	}
	hook := step("Pre-upgrade hook: stop server", sdk.StepSucceeded, 4*time.Minute, 3*time.Minute)
	hook.Kind = sdk.StepOfHook
	hook.Tasks = []sdk.Task{{Kind: sdk.TaskStopComponents, Steps: []sdk.Step{
		step("Write the StyrminDeployment", sdk.StepSucceeded, 4*time.Minute, 4*time.Minute),
		step("Wait for the deployment to be ready", sdk.StepSucceeded, 4*time.Minute, 3*time.Minute),
	}}}
	install := step("Install or upgrade the HelmRelease", sdk.StepRunning, 2*time.Minute, 0)
	install.Kind = sdk.StepOfOperator
	install.Notice = "No report from the agent since 2026-11-29T11:58:30Z"
	install.Attempts = []sdk.Attempt{
		{Number: 1, Status: sdk.StepFailed, StartedAt: ago(2 * time.Minute), EndedAt: ago(time.Minute), Error: "Helm upgrade failed: timed out"},
		{Number: 2, Status: sdk.StepRunning, StartedAt: ago(50 * time.Second)},
	}
	return &sdk.Task{
		ID: "t-1", Kind: sdk.TaskUpdateVersion, Status: sdk.TaskRunning, Result: sdk.ResultRunning, StartedAt: ago(4 * time.Minute),
		Steps: []sdk.Step{
			hook, step("Write the StyrminDeployment", sdk.StepSucceeded, 3*time.Minute, 3*time.Minute-time.Second), install,
			step("Wait for the deployment to be ready", sdk.StepPending, 0, 0),
			step("Post-upgrade hook: start server", sdk.StepPending, 0, 0),
		},
	}
}

// failedTask is the same upgrade when its step has failed for good.
func failedTask() *sdk.Task {
	task := testTask()
	task.Result, task.Status, task.FinishedAt = sdk.ResultFailed, sdk.TaskFailed, ago(10*time.Second)
	task.FailureReason = `step "Install or upgrade the HelmRelease" failed: timed out`
	install := &task.Steps[2]
	install.Status, install.EndedAt, install.Notice = sdk.StepFailed, ago(10*time.Second), ""
	install.Error = "Helm upgrade failed: timed out; pod shop-server-0: container server ImagePullBackOff (no tag 9.9.9)"
	install.Attempts[1].Status, install.Attempts[1].Error = sdk.StepFailed, install.Error
	for i := range task.Steps[3:] {
		task.Steps[3+i].Status = sdk.StepCancelled
	}
	return task
}

func TestWhatIsPrintedIsAsInItsGoldenFile(t *testing.T) {
	deployments := testDeployments()
	for name, print := range map[string]func(*app) error{
		"list.txt":          func(a *app) error { return a.printDeployments(outputTable, deployments, testClusters) },
		"list-wide.txt":     func(a *app) error { return a.printDeployments(outputWide, deployments, testClusters) },
		"list.json":         func(a *app) error { return a.printDeployments(outputJSON, deployments[:1], testClusters) },
		"list.yaml":         func(a *app) error { return a.printDeployments(outputYAML, deployments[:1], testClusters) },
		"list-name.txt":     func(a *app) error { return a.printDeployments(outputName, deployments, testClusters) },
		"list-none.txt":     func(a *app) error { return a.printDeployments(outputTable, nil, testClusters) },
		"list-none.json":    func(a *app) error { return a.printDeployments(outputJSON, nil, testClusters) },
		"get-running.txt":   func(a *app) error { return a.printDescription(&deployments[0], testClusters, nil, nil) },
		"get-failed.txt":    func(a *app) error { return a.printDescription(&deployments[1], testClusters, failedTask(), testPods()) },
		"get-changing.txt":  func(a *app) error { return a.printDescription(&deployments[1], testClusters, testTask(), nil) },
		"get-adopted.txt":   func(a *app) error { return a.printDescription(&deployments[2], testClusters, nil, nil) },
		"pods.txt":          func(a *app) error { return a.printPods(outputTable, testPods()) },
		"pods-wide.txt":     func(a *app) error { return a.printPods(outputWide, testPods()) },
		"pods-none.txt":     func(a *app) error { return a.printPods(outputTable, nil) },
		"clusters.txt":      func(a *app) error { return a.printClusters(outputTable, testClusters) },
		"clusters-wide.txt": func(a *app) error { return a.printClusters(outputWide, testClusters) },
		"clusters-none.txt": func(a *app) error { return a.printClusters(outputTable, nil) },
		"task-running.txt":  func(a *app) error { a.printTask(testTask(), true); return nil },
		"task-failed.txt":   func(a *app) error { a.printTask(failedTask(), true); return nil },
		"transcript.txt":    func(a *app) error { tellStory(&transcript{say: a.say, name: "shop"}); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			a, out := printing()
			if err := print(a); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(out.String(), "\x1b\x07") {
				t.Errorf("a terminal would obey it: %q", out.String())
			}
			checkGolden(t, name, out.String())
		})
	}
}

// tellStory shows the looks at a change to a view.
func tellStory(v view) {
	pending, running, failed := testTask(), testTask(), failedTask()
	pending.Steps[0].Status, pending.Steps[0].Tasks = sdk.StepRunning, nil
	for i := range pending.Steps[1:] {
		pending.Steps[1+i] = sdk.Step{ID: pending.Steps[1+i].ID, Name: pending.Steps[1+i].Name, Status: sdk.StepPending}
	}
	for _, look := range []snapshot{
		{Progress: sdk.Progress{Task: pending, Deployment: &sdk.Deployment{Status: sdk.StatusRunning}}},
		{Progress: sdk.Progress{Task: running, Deployment: &sdk.Deployment{Status: sdk.StatusDeploying}}, pods: testPods()},
		{Progress: sdk.Progress{Task: running, Deployment: &sdk.Deployment{Status: sdk.StatusDeploying}, Err: errors.New("the server does not answer")}},
		{Progress: sdk.Progress{Task: running, Deployment: &sdk.Deployment{Status: sdk.StatusDeploying}, Err: errors.New("the server does not answer")}},
		{Progress: sdk.Progress{Task: running, Deployment: &sdk.Deployment{Status: sdk.StatusDeploying}}, pods: testPods()},
		{Progress: sdk.Progress{Task: failed, Deployment: &sdk.Deployment{Status: sdk.StatusFailed}}},
	} {
		v.update(look)
		v.tick()
	}
	v.close()
}

// emulator is as much of a terminal as a screen needs: it keeps lines, moves up,
// and clears.
type emulator struct {
	lines []string
	row   int
}

func (e *emulator) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		var up int
		switch {
		case strings.HasPrefix(text, hideCursor), strings.HasPrefix(text, showCursor):
			text = text[len(hideCursor):]
		case strings.HasPrefix(text, clearLine):
			text = text[len(clearLine):]
		case strings.HasPrefix(text, clearBelow):
			e.lines, text = e.lines[:e.row], text[len(clearBelow):]
		case strings.HasPrefix(text, "\r"):
			text = text[1:]
			line, rest, _ := strings.Cut(text, clearLine+"\n")
			e.lines = append(e.lines[:e.row:e.row], append([]string{line}, e.lines[min(e.row+1, len(e.lines)):]...)...)
			e.row++
			text = rest
		default:
			if n, err := fmt.Sscanf(text, "\x1b[%dA", &up); n != 1 || err != nil || up > e.row {
				return 0, fmt.Errorf("the terminal does not understand %q", text)
			}
			e.row -= up
			text = text[strings.Index(text, "A")+1:]
		}
	}
	return len(p), nil
}

func TestAScreenIsDrawnInOnePlace(t *testing.T) {
	for name, test := range map[string]struct {
		width, height int
		colour        bool
	}{
		"screen.txt":          {width: 100, height: 40},
		"screen-coloured.txt": {width: 100, height: 40, colour: true},
		"screen-narrow.txt":   {width: 30, height: 40},
		"screen-low.txt":      {width: 100, height: 5},
	} {
		t.Run(name, func(t *testing.T) {
			e := &emulator{}
			s := &screen{
				out: e, size: func() (int, int) { return test.width, test.height }, now: func() time.Time { return noon },
				colour: palette{test.colour}, name: "shop",
			}
			var shown strings.Builder
			story := recorder{view: s, after: func() {
				fmt.Fprintf(&shown, "%s\n%s\n", strings.Repeat("=", 20), strings.Join(e.lines, "\n"))
				if len(e.lines) >= test.height {
					t.Errorf("%d lines on a screen of %d", len(e.lines), test.height)
				}
				for _, line := range e.lines {
					if n := len([]rune(line)); n >= test.width && !test.colour {
						t.Errorf("a line of %d characters on a screen of %d: %s", n, test.width, line)
					}
				}
			}}
			tellStory(story)
			checkGolden(t, name, strings.ReplaceAll(shown.String(), "\x1b", "^["))
		})
	}
}

// recorder looks at a view after each update.
type recorder struct {
	view
	after func()
}

func (r recorder) update(s snapshot) {
	r.view.update(s)
	r.after()
}

func (r recorder) close() {
	r.view.close()
	r.after()
}
