// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/randfill"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

var contract = sync.OnceValues(func() (*ast.Schema, error) {
	path := filepath.Join("..", "api", "graphql", "schema.graphqls")
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return gqlparser.LoadSchema(&ast.Source{Name: path, Input: string(source)})
})

// checkContract makes sure that the variables are what the contract asks for,
// with clean text and times.
func checkContract(t *testing.T, operation string, variables []byte) {
	t.Helper()
	schema, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	query, errs := gqlparser.LoadQueryWithRules(schema, operation, nil)
	if errs != nil {
		t.Fatal(errs)
	}
	var values map[string]any
	decoder := json.NewDecoder(bytes.NewReader(variables))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		t.Fatalf("variables %q: %v", variables, err)
	}
	if _, err := validator.VariableValues(schema, query.Operations[0], values); err != nil {
		t.Errorf("variables %s: %v", variables, err)
	}
	checkTexts(t, "", values)
}

func checkTexts(t *testing.T, name string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for field, inner := range value {
			checkTexts(t, field, inner)
		}
	case []any:
		for _, inner := range value {
			checkTexts(t, name, inner)
		}
	case json.Number:
		if n, err := value.Int64(); name != "generation" && name != "observedGeneration" && (err != nil || int64(int32(n)) != n) {
			t.Errorf("%s is no Int of GraphQL: %s", name, value)
		}
	case string:
		if !utf8.ValidString(value) || strings.ContainsRune(value, 0) || len(value) > maxText {
			t.Errorf("%s is not clean: %q", name, value)
		}
		if strings.HasSuffix(name, "At") || name == "lastTransitionTime" {
			at, err := time.Parse(time.RFC3339, value)
			if err != nil || !strings.HasSuffix(value, "Z") || at.Year() < 1 {
				t.Errorf("%s is no time as the contract has it: %q", name, value)
			}
		}
	}
}

// randomText has everything in it that a text can have.
func randomText(random *rand.Rand) string {
	pieces := []string{"", "a", "back-off", "\x00", "\xff", "世界", "😀", "\xed\xa0\x80", "<&>\"\\\n", strings.Repeat("x", 700), strings.Repeat("\x80", 40)}
	var text strings.Builder
	for range random.IntN(6) {
		text.WriteString(pieces[random.IntN(len(pieces))])
	}
	return text.String()
}

// filler fills objects with anything that their types allow: nil and empty
// everything, times of any year, numbers of any size.
func filler(random *rand.Rand) *randfill.Filler {
	return randfill.New().RandSource(sourceOf{random}).NilChance(0.4).NumElements(0, 3).MaxDepth(12).Funcs(
		func(s *string, _ randfill.Continue) { *s = randomText(random) },
		func(tm *metav1.Time, _ randfill.Continue) {
			if random.IntN(4) > 0 {
				*tm = metav1.NewTime(time.Unix(random.Int64N(1<<40)-(1<<39), random.Int64N(1e9)))
			}
		},
	)
}

// sourceOf lets a filler draw from the test's random numbers.
type sourceOf struct{ *rand.Rand }

func (s sourceOf) Seed(int64)   {}
func (s sourceOf) Int63() int64 { return s.Int64() }

func FuzzP6AnyPodsMakeAValidReport(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		fill := filler(random)
		pods := make([]*corev1.Pod, 0, 4)
		for i := range 3 {
			pod := &corev1.Pod{}
			fill.Fill(pod)
			if random.IntN(5) > 0 {
				pod.Namespace, pod.Name, pod.UID = "ns", "pod", types.UID(string(rune('a'+i)))
			}
			pods = append(pods, pod)
		}
		// The odd ones must not stop its report.
		pods = append(pods, testPod("ns", "good"))
		checkPods(t, pods)
		for _, pod := range pods {
			// In place, as the informers have it.
			if _, err := podTransform(pod); err != nil {
				t.Errorf("podTransform: %v", err)
			}
		}
		checkPods(t, pods)
	})
}

// checkPods makes sure that the pods make a report as the contract has it, with the
// row of the good one, and that they are not changed by that.
func checkPods(t *testing.T, pods []*corev1.Pod) {
	t.Helper()
	before := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		before = append(before, pod.DeepCopy())
	}
	table := newPodTable()
	if err := table.update(pods, nil); err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		if !equalObjects(before[i], pods[i]) {
			t.Error("A pod was changed")
		}
	}
	var encoded bytes.Buffer
	header := ReportHeader{SessionId: "s", Sequence: 1, ObservedAt: testStart, SentAt: testStart, Complete: true}
	if err := (&podVariables{report: header, namespaces: table.report(maxRowBytes)}).WriteJSON(&encoded); err != nil {
		t.Fatal(err)
	}
	checkContract(t, ReportPodStatuses_Operation, encoded.Bytes())
	var variables struct{ Namespaces []NamespacePodsInput }
	if err := json.Unmarshal(encoded.Bytes(), &variables); err != nil {
		t.Fatal(err)
	}
	rows := map[string]PodStatusInput{}
	for _, namespace := range variables.Namespaces {
		for _, row := range namespace.Pods {
			rows[row.Uid] = row
		}
	}
	if diff := cmp.Diff(podRow(testPod("ns", "good"), ""), rows["uid-of-good"]); diff != "" {
		t.Errorf("the row of the good pod (-want +got):\n%s", diff)
	}
}

func FuzzP6AnyStyrminDeploymentsMakeAValidReport(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 3))
		fill := filler(random)
		deployments := make([]*styrminv1.StyrminDeployment, 0, 3)
		before := make([]*styrminv1.StyrminDeployment, 0, 3)
		for range 3 {
			deployment := &styrminv1.StyrminDeployment{}
			fill.Fill(&deployment.ObjectMeta)
			fill.Fill(&deployment.Spec.Components)
			fill.Fill(&deployment.Spec.DeploymentID)
			fill.Fill(&deployment.Spec.InstanceID)
			fill.Fill(&deployment.Spec.Environment)
			fill.Fill(&deployment.Status)
			if random.IntN(5) > 0 {
				deployment.Namespace, deployment.Name, deployment.UID = "ns", "shop", "uid"
			}
			deployments = append(deployments, deployment)
			before = append(before, deployment.DeepCopy())
		}
		newComponentIndex(deployments).find("", nil)
		table := &deploymentTable{}
		if err := table.update(deployments); err != nil {
			t.Fatal(err)
		}
		for i := range deployments {
			if !equalObjects(before[i], deployments[i]) {
				t.Error("A deployment was changed")
			}
		}
		header := ReportHeader{SessionId: "s", Sequence: 1, ObservedAt: testStart, SentAt: testStart, Complete: true}
		variables, err := json.Marshal(__ReportDeploymentStatusesInput{Report: header, Digest: &table.digest, Deployments: table.report()})
		if err != nil {
			t.Fatal(err)
		}
		checkContract(t, ReportDeploymentStatuses_Operation, variables)
	})
}

func equalObjects(a, b any) bool {
	return equality.Semantic.DeepEqual(a, b)
}
