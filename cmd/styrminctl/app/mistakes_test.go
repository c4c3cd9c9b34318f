// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// TestNothingIsMeantByAnEmptyName: a variable of a script that is not set must not
// mean the only deployment, nor any environment.
func TestNothingIsMeantByAnEmptyName(t *testing.T) {
	w := newWorld(t)
	w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", "1")))
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a deployment to delete":   {[]string{"deployments", "delete", "", "--yes"}, "NAME is empty"},
		"its kind alone":           {[]string{"deployments", "delete", "deployment/", "--yes"}, "NAME is empty"},
		"a deployment to get":      {[]string{"deployments", "get", ""}, "NAME is empty"},
		"its environment":          {[]string{"deployments", "delete", "shop", "--environment", "", "--yes"}, "--environment is given, but empty"},
		"its cluster":              {[]string{"deployments", "delete", "shop", "--cluster=", "--yes"}, "--cluster is given, but empty"},
		"a file":                   {[]string{"deployments", "apply", "-f", ""}, "--filename is given, but empty"},
		"a server":                 {[]string{"clusters", "list", "--server-address", ""}, "--server-address is given, but empty"},
		"a task":                   {[]string{"tasks", "get", "task/"}, "ID is empty"},
		"a task to wait for":       {[]string{"tasks", "wait", ""}, "ID is empty"},
		"a cluster's token":        {[]string{"clusters", "rotate-token", ""}, "NAME is empty"},
		"a cluster to be made":     {[]string{"clusters", "create", ""}, "NAME is empty"},
		"a version to upgrade to":  {[]string{"deployments", "upgrade", "shop", ""}, "VERSION is empty"},
		"a component to stop":      {[]string{"deployments", "stop", "shop", ""}, "COMPONENT is empty"},
		"a component to start":     {[]string{"deployments", "start", "shop", "server", ""}, "COMPONENT is empty"},
		"a component's job to run": {[]string{"deployments", "run-job", "shop", ""}, "JOB is empty"},
	} {
		got := w.run(ExitUsage, test.args...)
		w.wantIn(name, got.err.String(), "Error: "+test.want)
	}
	if listed := w.run(ExitOK, "deployments", "list", "-o", "name"); listed.out.String() != "deployment/shop\n" {
		t.Errorf("there is %q", listed.out.String())
	}
}

func TestATimeoutThatCannotBeMeantIsRefused(t *testing.T) {
	m := &machine{T: t, env: map[string]string{"STYRMIN_SERVER_ADDRESS": "http://127.0.0.1:1"}}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a negative one":          {[]string{"deployments", "scale", "shop", "server=1", "--wait", "--timeout", "-1s"}, "--timeout must not be negative"},
		"a negative one of tasks": {[]string{"tasks", "wait", "x", "--timeout=-5m"}, "--timeout must not be negative"},
		"one without a wait":      {[]string{"deployments", "apply", "-f", "x.yaml", "--timeout", "5m"}, "--timeout is for --wait, which is not given"},
		"one without a unit":      {[]string{"tasks", "wait", "x", "--timeout", "5"}, "must be a duration like"},
	} {
		got := m.run(ExitUsage, test.args...)
		m.wantIn(name, got.err.String(), "Error: ", test.want)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatIsLostIsAnError(t *testing.T) {
	w := newWorld(t)
	w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", "1")))
	for _, args := range [][]string{
		{"deployments", "list"}, {"deployments", "list", "-o", "json"}, {"deployments", "list", "-o", "name"},
		{"deployments", "get", "shop"}, {"version"}, {"clusters", "create", "staging"}, {"deployments", "scale", "shop", "server=4"},
	} {
		var said bytes.Buffer
		a := &app{Environment: Environment{Out: full{}, Err: &said, LookupEnv: w.lookup}, clock: time.Now}
		if code := run(t.Context(), args, a); code != ExitError {
			t.Errorf("%v ended with %d, want %d", args, code, ExitError)
		}
		if want := "Error: writing the output: no space left on device\n"; said.String() != want {
			t.Errorf("%v said %q, want %q", args, said.String(), want)
		}
	}
}

func TestCtrlCEndsReading(t *testing.T) {
	w := newWorld(t)
	silent, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	w.in = silent
	reading := w.start("deployments", "apply", "-f", "-")
	reading.cancel()
	if code := reading.wait(); code != ExitInterrupted {
		t.Errorf("it ended with %d: %s", code, reading.err.String())
	}

	w.in = nil
	w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", "1")))
	p := newPerson(t)
	asking := w.startAt(p, "deployments", "delete", "shop")
	p.waitFor(t, "[y/N]")
	asking.cancel()
	if code := asking.wait(); code != ExitInterrupted {
		t.Errorf("it ended with %d: %s", code, p.saw())
	}
	if _, err := io.WriteString(p.terminal, "\n"); err != nil { // This ends the reading that was left behind.
		t.Error(err)
	}
	w.run(ExitOK, "deployments", "get", "shop")
}

// TestCtrlCInTheMiddleOfSeveralChangesSaysWhatGoesOn: those that were asked for.
func TestCtrlCInTheMiddleOfSeveralChangesSaysWhatGoesOn(t *testing.T) {
	err := errors.Join(&interruptedError{"t-1"}, t.Context().Err(), errors.New("listing: "+http.ErrAbortHandler.Error()))
	var said bytes.Buffer
	a := &app{Environment: Environment{Err: &said}}
	if code := a.end(err); code != ExitInterrupted || !strings.Contains(said.String(), "styrminctl tasks wait t-1") {
		t.Errorf("it ended with %d: %s", code, said.String())
	}
}

// TestCtrlCDoesNotHideWhatFailedBefore: of three documents the first is refused and
// the second interrupted; the third is not asked for any more.
func TestCtrlCDoesNotHideWhatFailedBefore(t *testing.T) {
	m := &machine{T: t}
	path := m.file("shops.yaml", shop("shop", "prod", "1")+"---\n"+shop("blog", "prod", "1")+"---\n"+shop("wiki", "prod", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	created := 0
	var out, said bytes.Buffer
	a := standIn(func(ctx context.Context, operation string) (int, string, error) {
		switch operation {
		case "listClusters":
			return http.StatusOK, `{"data": {"clusters": [{"id": "c-1", "name": "production"}]}}`, nil
		case "listDeployments":
			return http.StatusOK, `{"data": {"deployments": []}}`, nil
		}
		if created++; created == 1 {
			return http.StatusOK, `{"errors": [{"message": "input.name: is taken", "extensions": {"code": "CONFLICT", "field": "input.name"}}]}`, nil
		}
		cancel()
		<-ctx.Done()
		return 0, "", ctx.Err()
	}).app(t, &out, &said)
	code := run(ctx, []string{"deployments", "apply", "-f", path}, a)
	want := "Error: " + path + ":4: name: is taken (CONFLICT)\nInterrupted\n"
	if code != ExitInterrupted || said.String() != want {
		t.Errorf("it ended with %d and said %q, want %d and %q", code, said.String(), ExitInterrupted, want)
	}
	if created != 2 {
		t.Errorf("it asked for %d deployments, want 2", created)
	}
}

// TestASlowServerDoesNotMakeAWaitLonger: what is for the eye alone is left out.
func TestASlowServerDoesNotMakeAWaitLonger(t *testing.T) {
	w := newWorld(t)
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	w.run(ExitOK, "deployments", "apply", "-f", path)
	flow := w.agent.Claim(t)
	flow.Write()
	flow.Report("CreatingHelmRelease", "Deploying", "")
	real, err := url.Parse(w.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(real)
	hung := make(chan string, 16)
	behind := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var call struct{ OperationName string }
		if err := errors.Join(err, json.Unmarshal(body, &call)); err != nil {
			t.Error(err)
		}
		if call.OperationName == "serverInfo" || call.OperationName == "listPods" {
			hung <- call.OperationName
			began := time.Now()
			<-r.Context().Done()
			// Any other request would be given 15 s.
			if took := time.Since(began); took > 4*eyeTimeout {
				t.Errorf("%s was waited for for %s", call.OperationName, took)
			}
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(rw, r)
	}))
	defer behind.Close()
	w.env["STYRMIN_SERVER_ADDRESS"] = behind.URL
	began := time.Now()
	w.run(ExitTimeout, "tasks", "wait", flow.TaskID, "--timeout", "0")
	if took := time.Since(began); took > patience/2 {
		t.Errorf("a wait that looks once took %s", took)
	}
	behind.Close() // Nobody sends to hung after this.
	close(hung)
	if first, second := <-hung, <-hung; first != "serverInfo" || second != "listPods" {
		t.Errorf("%q and %q hung", first, second)
	}
}

func TestWithoutAHomeThereIsNoConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".config", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(".config/styrmin", []byte("serverAddress: https://stranger.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, _, err := configured(t, config{}, nil); err == nil {
		t.Errorf("it is configured as %+v by a file in the working folder", s)
	}
}

func TestATokenMayEndInANewLine(t *testing.T) {
	s, _, err := configured(t, config{serverAddress: "https://x"}, map[string]string{"STYRMIN_TOKEN": "secret\r\n"})
	if err != nil || s.Token != "secret" {
		t.Errorf("the token is %q, %v", s.Token, err)
	}
}
