// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// written are the Go types that stand for the contract's, written by hand.
var written = map[string]reflect.Type{
	"Cluster":              reflect.TypeFor[Cluster](),
	"ComponentStatus":      reflect.TypeFor[Component](),
	"Condition":            reflect.TypeFor[Condition](),
	"ContainerStatus":      reflect.TypeFor[Container](),
	"CreateClusterPayload": reflect.TypeFor[ClusterToken](),
	"CreateTokenPayload":   reflect.TypeFor[NewToken](),
	"Deployment":           reflect.TypeFor[Deployment](),
	"DeploymentStatus":     reflect.TypeFor[Observed](),
	"Instance":             reflect.TypeFor[Instance](),
	"PodStatus":            reflect.TypeFor[podRow](),
	"ServerInfo":           reflect.TypeFor[ServerInfo](),
	"Step":                 reflect.TypeFor[Step](),
	"StepAttempt":          reflect.TypeFor[Attempt](),
	"Task":                 reflect.TypeFor[Task](),
	"Token":                reflect.TypeFor[Token](),
}

func contract(t *testing.T) *ast.Schema {
	t.Helper()
	source, err := os.ReadFile("../api/graphql/schema.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(source)})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestTheTypesHaveWhatTheOperationsAskFor: a field that is asked for and has no
// place would be lost, one that is not asked for would always be empty.
func TestTheTypesHaveWhatTheOperationsAskFor(t *testing.T) {
	operations, err := os.ReadFile("operations.graphql")
	if err != nil {
		t.Fatal(err)
	}
	document, errs := gqlparser.LoadQueryWithRules(contract(t), string(operations), nil)
	if errs != nil {
		t.Fatal(errs)
	}
	asked := map[string]map[string]bool{}
	for _, operation := range document.Operations {
		collect(operation.SelectionSet, asked)
	}
	// The answer to listTasks is generated: its one field is the list of tasks.
	delete(asked["Deployment"], "tasks")
	for name, fields := range asked {
		if name == "Query" || name == "Mutation" {
			continue
		}
		typ := written[name]
		if typ == nil {
			t.Errorf("no type stands for %s", name)
			continue
		}
		want, got := slices.Sorted(maps.Keys(fields)), []string{}
		for _, field := range reflect.VisibleFields(typ) {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" {
				got = append(got, tag)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the fields of %s for %s (-asked +there):\n%s", typ, name, diff)
		}
	}
}

// collect notes which fields of which types are asked for.
func collect(selections ast.SelectionSet, asked map[string]map[string]bool) {
	for _, selection := range selections {
		switch selection := selection.(type) {
		case *ast.Field:
			name := selection.ObjectDefinition.Name
			if asked[name] == nil {
				asked[name] = map[string]bool{}
			}
			asked[name][selection.Name] = true
			collect(selection.SelectionSet, asked)
		case *ast.FragmentSpread:
			collect(selection.Definition.SelectionSet, asked)
		}
	}
}

func TestEveryWordOfTheContractHasItsConstant(t *testing.T) {
	schema := contract(t)
	for name, got := range map[string][]string{
		"DeploymentStatusName": words(StatusPending, StatusDeploying, StatusRunning, StatusFailed, StatusDeleting, StatusDeleted),
		"DeploymentManager":    words(ManagedByServer, ManagedByCluster),
		"TaskKind": words(TaskCreate, TaskUpdate, TaskScale, TaskUpdateVersion, TaskDelete, TaskStartComponents,
			TaskStopComponents, TaskRunJob),
		"TaskStatus": words(TaskPending, TaskRunning, TaskSuccess, TaskFailed),
		"TaskResult": words(ResultRunning, ResultSucceeded, ResultFailed, ResultSuperseded),
		"StepKind":   words(StepOfFlow, StepOfHook, StepOfOperator),
		"StepStatus": words(StepPending, StepRunning, StepSucceeded, StepFailed, StepCancelled),
		"TokenRole":  words(RoleViewer, RoleAdmin),
	} {
		want := make([]string, 0, len(got))
		for _, value := range schema.Types[name].EnumValues {
			want = append(want, value.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-contract +here):\n%s", name, diff)
		}
	}
}

func words[T ~string](constants ...T) []string {
	list := make([]string, len(constants))
	for i, constant := range constants {
		list[i] = string(constant)
	}
	return list
}
