// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/sdk"
	"github.com/styrmin/styrmin/sdk/sdktest"
)

// TestTheExamplesRun runs them against a real server whose agent works, in the
// order of a deployment's life.
func TestTheExamplesRun(t *testing.T) {
	server := sdktest.Start(t)
	agent := server.NewCluster(t, "production")
	agent.Work(t)
	t.Setenv("STYRMIN_SERVER_ADDRESS", settling(t, server.URL, agent))
	t.Setenv("STYRMIN_TOKEN", server.AdminToken)
	t.Setenv("BUILD_NUMBER", "4711")
	for _, test := range []struct {
		name string
		run  func()
		want string
	}{
		{"Create", ExampleDeploymentsService_Create, "It runs: true\n"},
		{"a change that changes nothing", ExampleDeploymentsService_Scale,
			"Three replicas are declared already: there is nothing to wait for\n"},
		{"the package", Example, "The deployment is RUNNING\n"},
		{"Error", ExampleError, "The call is wrong: job: the deployment has no job \"cleanup\"\n"},
		{"IdempotencyKey", func() { addJob(t); ExampleIdempotencyKey() }, "One task: true\n"},
		{"WaitForTask", ExampleDeploymentsService_WaitForTask,
			"It failed: step \"Install or upgrade the HelmRelease\" failed: Helm upgrade failed: timed out waiting for the condition\n"},
		{"UnhealthyPods", func() { startServer(t); ExampleDeploymentsService_UnhealthyPods() },
			strings.Repeat("prod-shop-server-N ImagePullBackOff Back-off pulling image \"registry.example/server\"\n", 3)},
	} {
		got := printed(t, test.run)
		got = regexp.MustCompile(`(?m)^Running: .*\n`).ReplaceAllString(got, "") // which are seen depends on the time
		got = regexp.MustCompile(`server-\d`).ReplaceAllString(got, "server-N")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("the example of %s (-want +got):\n%s", test.name, diff)
		}
	}
}

// settling is a server in front of the real one that answers when the agent has
// done what was asked for, so that no example waits for its second look.
func settling(t *testing.T, address string, agent *sdktest.Agent) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent.Settle(r.Context())
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// addJob gives the shop the job that an example runs.
func addJob(t *testing.T) {
	t.Helper()
	ctx, client := connect()
	deployment, err := client.Deployments.Get(ctx, shop(ctx, client))
	if err != nil {
		t.Fatal(err)
	}
	spec := strings.TrimSuffix(string(deployment.Instance.Spec), "}") + `, "jobs": [{"name": "migrate", "template": {"template": {"spec": {}}}}]}`
	wait(ctx, t, client)(client.Deployments.Update(ctx, deployment.ID, jsonText(spec)))
}

// startServer starts what another example has stopped.
func startServer(t *testing.T) {
	t.Helper()
	ctx, client := connect()
	wait(ctx, t, client)(client.Deployments.StartComponents(ctx, shop(ctx, client), []string{"server"}))
}

type jsonText string

func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }

func wait(ctx context.Context, t *testing.T, client *sdk.Client) func(*sdk.Task, error) {
	return func(task *sdk.Task, err error) {
		t.Helper()
		if err == nil {
			_, err = client.Deployments.WaitForTask(ctx, task.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// printed is what a function writes to standard output.
func printed(t *testing.T, run func()) string {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = writer
	text := make(chan []byte)
	go func() {
		read, _ := io.ReadAll(reader)
		text <- read
	}()
	func() {
		defer func() { os.Stdout = stdout }()
		run()
	}()
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return string(<-text)
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestTheDocumentationShowsWhatRuns: each piece of Go of the page is a part of an
// example above.
func TestTheDocumentationShowsWhatRuns(t *testing.T) {
	page, err := os.ReadFile("../docs/sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no example")
	}
	for _, block := range blocks {
		if !bytes.Contains(flat(source), flat(block[1])) {
			t.Errorf("no example runs this:\n%s", block[1])
		}
	}
}

// flat is code without its indentation.
func flat(code []byte) []byte {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAll(bytes.TrimSpace(code), nil)
}
