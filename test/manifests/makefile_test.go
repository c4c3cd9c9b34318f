// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMakeRefusesWhatCannotWork: a target that lacks something says what, before it
// has changed anything.
func TestMakeRefusesWhatCannotWork(t *testing.T) {
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"an image without a container tool": {
			args: []string{"docker-build", "CONTAINER_TOOL=/nowhere/docker"},
			want: "/nowhere/docker is not installed, or nothing runs that it could talk to",
		},
		"an agent without a server": {
			args: []string{"deploy", "SERVER_ADDRESS="},
			want: "Set SERVER_ADDRESS to the address of the server",
		},
		"an agent with a server that is none": {
			args: []string{"deploy", "SERVER_ADDRESS=styrmin.example"},
			want: "SERVER_ADDRESS is 'styrmin.example': want an address as https://styrmin.example",
		},
		"an agent with an unclear authority": {
			args: []string{"deploy", "SERVER_ADDRESS=https://styrmin.example", "PRIVATE_CA=perhaps"},
			want: "PRIVATE_CA is 'perhaps': want yes or no",
		},
		"a server with an unknown database": {
			args: []string{"deploy-server", "DATABASE=mysql"},
			want: "DATABASE is 'mysql': want sqlite or postgres",
		},
		"a server that speaks TLS perhaps": {
			args: []string{"deploy-server", "TLS=perhaps"},
			want: "TLS is 'perhaps': want yes or no",
		},
		"a removal of it is unclear what": {
			args: []string{"undeploy", "DEPLOYMENTS=some"},
			want: "DEPLOYMENTS is 'some': want keep or delete",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			overlays, before := t.TempDir(), map[string]string{"agent": "an agent that works", "server": "a server that works"}
			for part, content := range before {
				writeFile(t, makeDir(t, filepath.Join(overlays, part)), "kustomization.yaml", content)
			}
			command := exec.CommandContext(t.Context(), "make", append(test.args, "KUBECTL=false", "OVERLAYS="+overlays)...)
			command.Dir = repository
			out, err := command.CombinedOutput()
			for part, content := range before {
				now, err := os.ReadFile(filepath.Join(overlays, part, "kustomization.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				if string(now) != content {
					t.Errorf("the overlay of the %s was %q, now it is %q", part, content, now)
				}
			}
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("want a failure with %q, got %v:\n%s", test.want, err, out)
			}
			if strings.Contains(string(out), "\nfalse ") {
				t.Errorf("kubectl was called before:\n%s", out)
			}
		})
	}
}

// TestMakeKeepsItsChoicesToItself: an image that make test names, if only by its own
// version, is not that of a make which one of the tests runs.
func TestMakeKeepsItsChoicesToItself(t *testing.T) {
	command := exec.CommandContext(t.Context(), "make", "--silent", "--eval", "environment: ; @env", "environment")
	command.Dir = repository
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"VERSION", "IMG", "SERVER_ADDRESS", "PRIVATE_CA", "DATABASE", "TLS", "OVERLAYS", "DEPLOYMENTS"} {
		if _, given := os.LookupEnv(name); !given && strings.Contains("\n"+string(out), "\n"+name+"=") {
			t.Errorf("%s is in the environment of every program that make runs", name)
		}
	}
}

func makeDir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o750); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUndeployStopsWhenItCannotTell: without the agent nothing removes the
// finalizers of StyrminDeployments, so it goes only after them, or when it is known
// that there are none.
func TestUndeployStopsWhenItCannotTell(t *testing.T) {
	const (
		ask        = "get crd styrmindeployments.styrmin.io --ignore-not-found -o name"
		removeThem = "delete styrmindeployments --all --all-namespaces"
	)
	removeAgent := []string{
		"delete --ignore-not-found -k config/agent",
		"delete configmaps --ignore-not-found --namespace styrmin-system --selector app.kubernetes.io/name=styrmin,app.kubernetes.io/component=manager",
		"delete --ignore-not-found -k config/default",
	}
	for sentence, test := range map[string]struct {
		get       string
		wantError bool
		want      []string
	}{
		"the API server does not answer": {get: "exit 1", wantError: true, want: []string{ask}},
		"there is no custom resource":    {get: "exit 0", want: slices.Concat([]string{ask}, removeAgent)},
		"there is the custom resource": {
			get:  "echo customresourcedefinition.apiextensions.k8s.io/styrmindeployments.styrmin.io",
			want: slices.Concat([]string{ask, removeThem}, removeAgent),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			kubectl, calls := filepath.Join(dir, "kubectl"), filepath.Join(dir, "calls")
			script := "#!/bin/sh\necho \"$*\" >>" + calls + "\n[ \"$1\" != get ] || " + test.get + "\n"
			if err := os.WriteFile(kubectl, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), "make", "undeploy", "DEPLOYMENTS=delete", "KUBECTL="+kubectl)
			command.Dir = repository
			out, err := command.CombinedOutput()
			if (err != nil) != test.wantError {
				t.Errorf("want an error: %t, got %v:\n%s", test.wantError, err, out)
			}
			called, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, strings.Split(strings.TrimSpace(string(called)), "\n")); diff != "" {
				t.Errorf("calls of kubectl (-want +got):\n%s", diff)
			}
		})
	}
}
