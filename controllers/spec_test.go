// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestO2DesiredObjects compares all that the sample makes with a golden file, as
// it is applied.
func TestO2DesiredObjects(t *testing.T) {
	d := sampleDeployment("styrmin", "shop")
	d.Spec.Services[0].HTTP.TLSSecretName = "shop-tls"
	s := newScope(d, noon)
	opts := Options{}.withDefaults()
	release, err := desiredHelmRelease(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	service, err := desiredService(s, &d.Spec.Services[0])
	if err != nil {
		t.Fatal(err)
	}
	routes, err := desiredRoutes(s, traefikGroups[0])
	if err != nil {
		t.Fatal(err)
	}
	objects := slices.Concat(
		[]client.Object{desiredNetworkPolicy(s), desiredChartSource(s, opts), release, service},
		[]client.Object{routes[0], routes[1]})
	var got []byte
	for _, obj := range objects {
		s.mark(obj)
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			t.Fatal(err)
		}
		applied, err := applyConfiguration(obj, gvk)
		if err != nil {
			t.Fatal(err)
		}
		data, err := yaml.Marshal(applied.Object)
		if err != nil {
			t.Fatal(err)
		}
		got = append(append(got, "---\n"...), data...)
	}
	golden := filepath.Join("testdata", "desired.golden.yaml")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("objects differ (-want +got):\n%s", diff)
	}
}

func TestO2ReleaseValues(t *testing.T) {
	component := func(path string, replicas int32, running bool) styrminv1.ComponentSpec {
		return styrminv1.ComponentSpec{Name: "server", Replicas: replicas, Running: &running, ReplicasValue: path}
	}
	for name, tc := range map[string]struct {
		values     string
		components []styrminv1.ComponentSpec
		want       string
		wantErr    string
	}{
		"replicas beside other values":       {`{"server":{"image":"x"}}`, []styrminv1.ComponentSpec{component("server.replicas", 3, true)}, `{"server":{"image":"x","replicas":3}}`, ""},
		"replicas over the values' own":      {`{"server":{"replicas":1}}`, []styrminv1.ComponentSpec{component("server.replicas", 3, true)}, `{"server":{"replicas":3}}`, ""},
		"a stopped component":                {`{}`, []styrminv1.ComponentSpec{component("replicas", 3, false)}, `{"replicas":0}`, ""},
		"a component without a path":         {`{"a":1}`, []styrminv1.ComponentSpec{component("", 3, true)}, `{"a":1}`, ""},
		"maps that are not there yet":        {``, []styrminv1.ComponentSpec{component("a.b.c", 2, true)}, `{"a":{"b":{"c":2}}}`, ""},
		"a map that the values set to null":  {`{"a":null}`, []styrminv1.ComponentSpec{component("a.b", 2, true)}, `{"a":{"b":2}}`, ""},
		"a path through something else":      {`{"a":{"b":7}}`, []styrminv1.ComponentSpec{component("a.b.c", 2, true)}, ``, "component server: replicasValue a.b.c: a.b is not a map in helmRelease.values"},
		"a path to a map":                    {`{"a":{"b":{}}}`, []styrminv1.ComponentSpec{component("a.b", 2, true)}, ``, "component server: replicasValue a.b: a.b is no number in helmRelease.values, or holds the value of another component"},
		"no values at all":                   {``, nil, `null`, ""},
		"numbers beyond those of JavaScript": {`{"a":9007199254740993}`, nil, `{"a":9007199254740993}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &styrminv1.StyrminDeployment{}
			d.Spec.Components = tc.components
			if tc.values != "" {
				d.Spec.HelmRelease.Values = &apiextensionsv1.JSON{Raw: []byte(tc.values)}
			}
			values, err := releaseValues(d)
			if tc.wantErr != "" {
				if err == nil || err.Error() != tc.wantErr {
					t.Fatalf("error = %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("values = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestO2ServiceSelectors(t *testing.T) {
	for name, tc := range map[string]struct {
		selector metav1.LabelSelector
		port     *intstr.IntOrString
		wantErr  bool
	}{
		"labels":      {selector: metav1.LabelSelector{MatchLabels: serverLabels}, port: ptr.To(intstr.FromString("http"))},
		"expressions": {selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}, wantErr: true},
		"everything":  {wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &styrminv1.StyrminDeployment{}
			d.Spec.Components = []styrminv1.ComponentSpec{{Name: "server", Selector: tc.selector}}
			service, err := desiredService(newScope(d, noon), &styrminv1.ServiceSpec{Name: "web", Component: "server", Port: 80, TargetPort: tc.port})
			if (err != nil) != tc.wantErr {
				t.Fatalf("error = %v, want one: %v", err, tc.wantErr)
			}
			if err == nil && service.Spec.Ports[0].TargetPort != *tc.port {
				t.Errorf("target port = %s, want %s", service.Spec.Ports[0].TargetPort.String(), tc.port)
			}
		})
	}
}

func TestO8Contains(t *testing.T) {
	for name, tc := range map[string]struct {
		whole, part string
		want        bool
	}{
		"equal":                          {`{"a":{"b":[1,"x"]}}`, `{"a":{"b":[1,"x"]}}`, true},
		"more fields, as defaults are":   {`{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, true},
		"more fields in a list's item":   {`{"a":[{"b":1,"c":2}]}`, `{"a":[{"b":1}]}`, true},
		"another value":                  {`{"a":1}`, `{"a":2}`, false},
		"a field that is not there":      {`{}`, `{"a":1}`, false},
		"one item more":                  {`{"a":[1,2]}`, `{"a":[1]}`, false},
		"items in another order":         {`{"a":[2,1]}`, `{"a":[1,2]}`, false},
		"an empty map that is not there": {`{}`, `{"a":{}}`, true},
		"an empty list that is none":     {`{"a":null}`, `{"a":[]}`, true},
		"a number stored in another way": {`{"a":1}`, `{"a":1.0}`, true},
		"a text that looks like it":      {`{"a":"1"}`, `{"a":1}`, false},
		"a map for a text":               {`{"a":"1"}`, `{"a":{"b":1}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			parse := func(s string) map[string]any {
				u := &unstructured.Unstructured{}
				if err := u.UnmarshalJSON([]byte(`{"kind":"Test",` + s[1:])); err != nil && s != "{}" {
					t.Fatal(err)
				}
				delete(u.Object, "kind")
				return u.Object
			}
			if got := contains(parse(tc.whole), parse(tc.part)); got != tc.want {
				t.Errorf("contains = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestO8CachedObjectsStayAsTheyAre runs the life of a deployment with client-go's
// detector of changes to cached objects, which a process reads at its start.
func TestO8CachedObjectsStayAsTheyAre(t *testing.T) {
	const detector = "KUBE_CACHE_MUTATION_DETECTOR"
	if os.Getenv(detector) != "" {
		t.Skip("this is the process that it starts, or all of them detect")
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestO2LifeOfADeployment$")
	command.Env = append(os.Environ(), detector+"=true")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("with %s: %v\n%s", detector, err, out)
	}
}
