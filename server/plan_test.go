// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestW1StepsOfTasks(t *testing.T) {
	operator := []string{
		"OPERATOR_PHASE Create network policies and secrets",
		"OPERATOR_PHASE Install or upgrade the HelmRelease",
		"OPERATOR_PHASE Create services and middlewares",
		"OPERATOR_PHASE Wait for the deployment to be ready",
	}
	write := append([]string{"FLOW Write the StyrminDeployment"}, operator...)
	upgrade := append(append([]string{"HOOK Pre-upgrade hook: stop server, db", "HOOK Pre-upgrade hook: run job migrate"}, write...), "HOOK Post-upgrade hook: start server, db")
	const declared = `{"hooks": {"upgrade": {
		"pre": [{"stopComponents": ["server", "db"]}, {"runJob": "migrate"}],
		"post": [{"startComponents": ["server", "db"]}]}}}`

	cases := map[string]struct {
		change   Change
		declared string
		internal bool
		want     []string
	}{
		"CREATE writes, then the operator works":                     {Change{Kind: TaskCreate}, declared, false, write},
		"UPDATE writes, then the operator works":                     {Change{Kind: TaskUpdate}, declared, false, write},
		"SCALE writes, then the operator works":                      {Change{Kind: TaskScale}, declared, false, write},
		"START_COMPONENTS writes, then the operator works":           {Change{Kind: TaskStartComponents}, declared, false, write},
		"STOP_COMPONENTS writes, then the operator works":            {Change{Kind: TaskStopComponents}, declared, false, write},
		"UPDATE_VERSION runs a hook step per hook around that":       {Change{Kind: TaskUpdateVersion}, declared, false, upgrade},
		"UPDATE_VERSION without hooks is like the others":            {Change{Kind: TaskUpdateVersion}, `{}`, false, write},
		"DELETE requests the deletion, then the operator removes":    {Change{Kind: TaskDelete}, declared, false, []string{"FLOW Request the deletion", "OPERATOR_PHASE Remove the deployment's resources and namespace"}},
		"RUN_JOB runs the job":                                       {Change{Kind: TaskRunJob, Job: "migrate"}, declared, false, []string{"FLOW Run job migrate"}},
		"tasks of internal deployments have no operator steps (R13)": {Change{Kind: TaskUpdateVersion}, declared, true, []string{upgrade[0], upgrade[1], write[0], upgrade[len(upgrade)-1]}},
		"nor do their deletions (R13)":                               {Change{Kind: TaskDelete}, declared, true, []string{"FLOW Request the deletion"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			declared, err := decodeSpec([]byte(tc.declared))
			if err != nil {
				t.Fatal(err)
			}
			ids := 0
			steps, err := plan(tc.change, declared, tc.internal, func() string { ids++; return strings.Repeat("i", ids) })
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range steps {
				got = append(got, string(steps[i].Kind)+" "+steps[i].Name)
				if steps[i].Status != StepPending || len(steps[i].Attempts) > 0 || len(steps[i].ID) != i+1 {
					t.Errorf("step %+v is not new", steps[i])
				}
				if (steps[i].Hook != nil) != (steps[i].Kind == StepHook) {
					t.Errorf("step %q of kind %s does %v", steps[i].Name, steps[i].Kind, steps[i].Hook)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestW1HookDoesOneThing(t *testing.T) {
	cases := map[string]struct{ hooks, field string }{
		"none":               {`{"upgrade": {"pre": [{"runJob": "a"}, {}]}}`, "spec.hooks.upgrade.pre[1]"},
		"two":                {`{"upgrade": {"post": [{"runJob": "a", "stopComponents": ["b"]}]}}`, "spec.hooks.upgrade.post[0]"},
		"not even an object": {`{"upgrade": [1]}`, "spec.hooks"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			declared, err := decodeSpec([]byte(`{"hooks": ` + tc.hooks + `}`))
			if err != nil {
				t.Fatal(err)
			}
			_, err = plan(Change{Kind: TaskUpdateVersion}, declared, false, NewID)
			wantCode(t, err, CodeInvalidInput, tc.field)
		})
	}
}
