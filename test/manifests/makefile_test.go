// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os/exec"
	"strings"
	"testing"
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
			command := exec.CommandContext(t.Context(), "make", append(test.args, "KUBECTL=false")...)
			command.Dir = repository
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("want a failure with %q, got %v:\n%s", test.want, err, out)
			}
			if strings.Contains(string(out), "\nfalse ") {
				t.Errorf("kubectl was called before:\n%s", out)
			}
		})
	}
}
