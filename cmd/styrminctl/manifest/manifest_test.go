// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// head is a document up to its spec, which begins on line 5.
const head = "apiVersion: styrmin.io/v1alpha1\nkind: StyrminDeployment\nmetadata: {name: shop}\nspec:\n"

// minimal is the least that a spec needs here, on two lines.
const minimal = "  environment: prod\n  helmRelease: {releaseName: shop, chart: {repository: \"oci://x\", name: shop, version: \"1\"}}\n"

func TestFaultsAreToldWithTheirLine(t *testing.T) {
	for name, test := range map[string]struct {
		document string
		want     string
	}{
		"an unknown field": {head + minimal + "  component: []\n",
			`f.yaml:7: unknown field "spec.component": did you mean components?`},
		"an unknown field that is like none": {head + minimal + "  frobnicate: 1\n", `f.yaml:7: unknown field "spec.frobnicate"`},
		"an unknown field deep inside": {head + minimal + "  components:\n  - name: server\n    selectors: {}\n",
			`f.yaml:9: unknown field "spec.components[0].selectors": did you mean selector?`},
		"an unknown field of a job's template": {head + minimal + "  jobs: [{name: j, template: {template: {spec: {container: []}}}}]\n",
			`f.yaml:7: unknown field "spec.jobs[0].template.template.spec.container": did you mean containers?`},
		"an unknown field beside the spec": {head + minimal + "extra: 1\n", `f.yaml:7: unknown field "extra"`},
		"a version that is a number":       {head + minimal + "  version: 2.10\n", `f.yaml:7: spec.version must be text: write 2.10 in quotes`},
		"replicas in words":                {head + minimal + "  components: [{name: a, replicas: many}]\n", `f.yaml:7: spec.components[0].replicas must be a whole number, not "many"`},
		"replicas beyond all numbers": {head + minimal + "  components: [{name: a, replicas: 99999999999}]\n",
			"f.yaml:7: spec.components[0].replicas: cannot unmarshal number 99999999999 into Go value of type int32"},
		"a truth value in words": {head + minimal + "  internal: sure\n", `f.yaml:7: spec.internal must be true or false, not "sure"`},
		"a list where an object must be": {head + "  environment: prod\n  helmRelease: []\n",
			"f.yaml:6: spec.helmRelease must be an object"},
		"an object where a list must be": {head + minimal + "  components: {}\n", "f.yaml:7: spec.components must be a list"},
		"text where an object must be":   {head + minimal + "  networkPolicy: None\n", "f.yaml:7: spec.networkPolicy must be an object"},
		"an object where text must be":   {head + minimal + "  version: {a: 1}\n", "f.yaml:7: spec.version must be text"},
		"a duration that is none": {head + "  environment: prod\n  helmRelease:\n    timeout: soon\n",
			`f.yaml:7: spec.helmRelease.timeout: time: invalid duration "soon"`},
		"yes in the values": {head + "  environment: prod\n  helmRelease:\n    values:\n      debug: yes\n",
			`f.yaml:8: yes is a truth value for some and text for others: write true or false, or "yes" in quotes`},
		"infinity in the values": {head + "  environment: prod\n  helmRelease: {values: {a: .inf}}\n", "f.yaml:6: .inf is no number that JSON can have"},
		"a key that is there twice": {head + minimal + "  version: \"1\"\n  version: \"2\"\n",
			`f.yaml:8: "version" is there twice`},
		"a key that is an object":      {head + minimal + "  {a: b}: 1\n", "f.yaml:7: a key must be text"},
		"another kind":                 {"apiVersion: v1\nkind: Namespace\n", "f.yaml:1: apiVersion is \"v1\": it must be styrmin.io/v1alpha1\nf.yaml:2: kind is \"Namespace\": it must be StyrminDeployment"},
		"no kind":                      {"metadata: {name: x}\n", "f.yaml:1: apiVersion is missing: it must be styrmin.io/v1alpha1\nf.yaml:1: kind is missing: it must be StyrminDeployment"},
		"no object":                    {"- a\n", "f.yaml:1: a document must be an object with apiVersion, kind, metadata and spec"},
		"no name":                      {strings.Replace(head, "{name: shop}", "{}", 1) + minimal, "f.yaml:3: metadata.name is missing: it is the deployment's name"},
		"no metadata":                  {strings.Replace(head, "metadata: {name: shop}\n", "", 1) + minimal, "f.yaml:1: metadata.name is missing: it is the deployment's name"},
		"a name that is a number":      {strings.Replace(head, "shop", "7", 1) + minimal, "f.yaml:3: metadata.name must be text: write 7 in quotes"},
		"a name that Kubernetes lacks": {strings.Replace(head, "shop", "My_Shop", 1) + minimal, "f.yaml:3: metadata.name: a lowercase RFC 1123 label must consist of"},
		"labels": {strings.Replace(head, "{name: shop}", "{name: shop, labels: {a: b}}", 1) + minimal,
			"f.yaml:3: metadata.labels is not kept by the server: leave it out"},
		"another namespace": {strings.Replace(head, "{name: shop}", "{name: shop, namespace: prod}", 1) + minimal,
			"f.yaml:3: metadata.namespace: the agent writes to the namespace styrmin; what runs goes to spec.targetNamespace"},
		"a status":                      {head + minimal + "status: {}\n", "f.yaml:7: status is what the operator finds out: leave it out"},
		"an id":                         {head + minimal + "  instanceId: x\n", "f.yaml:7: spec.instanceId is set by the server: leave it out"},
		"no environment":                {head + "  version: \"1\"\n", "f.yaml:5: spec.environment is missing"},
		"no spec":                       {head, "f.yaml:1: spec is missing"},
		"no YAML":                       {head + "  a: b: c\n", "f.yaml:5: mapping values are not allowed in this context"},
		"a tab":                         {"\tapiVersion: x\n", "f.yaml: found character that cannot start any token"},
		"a merge of text":               {head + minimal + "  <<: text\n", "f.yaml:7: only an object can be merged"},
		"an endless merge":              {head + minimal + "  hooks: &h {<<: *h}\n", "the document stands for too much"},
		"an endless merge that doubles": {head + minimal + "  hooks: &h {<<: [*h, *h]}\n", "the document stands for too much"},
		"aliases that stand for too much": {head + "  environment: prod\n  helmRelease:\n    values:\n" +
			"      a: &a [0,0,0,0,0,0,0,0,0,0]\n      b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n      c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"      d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n      e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n", "the document stands for too much"},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := Read("f.yaml", strings.NewReader(test.document))
			if err == nil || len(documents) > 0 {
				t.Fatalf("got %v, %v", documents, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("it says:\n%v\nwant:\n%s", err, test.want)
			}
			if lines := strings.Count(err.Error(), "\n"); lines > 3 {
				t.Errorf("it says too much:\n%v", err)
			}
		})
	}
}

func TestAllFaultsOfAllDocumentsAreTold(t *testing.T) {
	content := head + minimal + "  a: 1\n  b: 2\n---\n" + head + minimal + "---\n" + head + minimal + "  c: 3\n"
	_, err := Read("f.yaml", strings.NewReader(content))
	want := "f.yaml:7: unknown field \"spec.a\"\nf.yaml:8: unknown field \"spec.b\"\nf.yaml:23: unknown field \"spec.c\""
	if err == nil || err.Error() != want {
		t.Errorf("it says:\n%v\nwant:\n%s", err, want)
	}
}

func TestDocumentsAreReadAsTheyAreMeant(t *testing.T) {
	const content = `
# The one.
apiVersion: styrmin.io/v1alpha1
kind: StyrminDeployment
metadata:
  name: shop
  namespace: styrmin
spec:
  environment: prod
  internal: true
  version: "2.10"
  helmRelease: &release
    releaseName: shop
    chart: {repository: "oci://x", name: shop, version: "2.10"}
    timeout: 5m
    values:
      big: 12345678901234567890
      mode: 0644
      ratio: 1.50
      date: 2026-11-29
      text: "yes"
      nothing: null
      base: &base {image: one, debug: false}
      derived: {<<: *base, image: two}
  components:
  - {name: server, replicas: 3, running: null, selector: {matchLabels: {app: server}}}
---
---
{"apiVersion": "styrmin.io/v1alpha1", "kind": "StyrminDeployment", "metadata": {"name": "blog"},
 "spec": {"environment": "test", "services": [{"name": "blog", "component": "c", "port": 80, "targetPort": "http"}]}}
`
	documents, err := Read("f.yaml", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != 2 {
		t.Fatalf("there are %d documents", len(documents))
	}
	shop, blog := documents[0], documents[1]
	if shop.Name != "shop" || shop.Environment != "prod" || !shop.Internal || blog.Name != "blog" || blog.Internal {
		t.Errorf("they are %+v and %+v", shop, blog)
	}
	var spec struct {
		Version     string
		HelmRelease struct{ Values map[string]json.RawMessage }
	}
	if err := json.Unmarshal(shop.Spec, &spec); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"version": spec.Version}
	for key, value := range spec.HelmRelease.Values {
		got[key] = string(value)
	}
	want := map[string]string{
		"version": "2.10", "big": "12345678901234567890", "mode": "420", "ratio": "1.50", "date": `"2026-11-29"`, "text": `"yes"`,
		"nothing": "null", "base": `{"debug":false,"image":"one"}`, "derived": `{"debug":false,"image":"two"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the spec (-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{
		"spec.components[0].name":         "f.yaml:26",
		"spec.helmRelease.values.derived": "f.yaml:24",
		"spec.helmRelease.values.none":    "f.yaml:16",
		"spec.components[7]":              "f.yaml:25",
		"metadata.name":                   "f.yaml:6",
		"":                                "f.yaml:3",
	} {
		if got := shop.At(path); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
}

// TestTheSampleIsADocument: what is shipped can be applied.
func TestTheSampleIsADocument(t *testing.T) {
	file, err := os.Open("../../../config/samples/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	documents, err := Read("shop.yaml", file)
	if err != nil || len(documents) != 1 {
		t.Errorf("there are %d documents, %v", len(documents), err)
	}
}

// FuzzAnyFileIsReadOrRefused: no file ends the program, and what is read is JSON.
func FuzzAnyFileIsReadOrRefused(f *testing.F) {
	for _, seed := range []string{head + minimal, head + minimal + "  jobs: [{template: {template: {}}}]\n", "a: &a [*a]", "? [a]\n: b", "---\n...\n", head + minimal + "  hooks: &h {<<: [*h, *h]}\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		documents, err := Read("f.yaml", strings.NewReader(content))
		if err != nil {
			return
		}
		for _, document := range documents {
			if !json.Valid(document.Spec) || document.Name == "" || document.Environment == "" {
				t.Errorf("%q became %+v", content, document)
			}
			document.At("spec.components[0].name")
		}
	})
}
