// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestInvalidSpecsAreRefused: the API server refuses what cannot be right, names
// the field, and says what it must be.
func TestInvalidSpecsAreRefused(t *testing.T) {
	type spec = styrminv1.StyrminDeploymentSpec
	for name, tc := range map[string]struct {
		create func(*styrminv1.StyrminDeployment)
		update func(*spec)
		want   string
	}{
		"a release name that Helm does not take": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.HelmRelease.ReleaseName = strings.Repeat("a", 54) },
			want:   "spec.helmRelease.releaseName",
		},
		"a repository without a scheme": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.HelmRelease.Chart.Repository = "charts.test" },
			want:   "spec.helmRelease.chart.repository",
		},
		"a service of no component": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.Services[0].Component = "nosuch" },
			want:   "spec.services: Invalid value: every service's component must be one of components; service web has another one",
		},
		"a service where there are no components": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.Components = nil },
			want:   "spec.services: Invalid value: every service's component must be one of components; service web has another one",
		},
		"a route through no middleware": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Services = append(d.Spec.Services, *d.Spec.Services[0].DeepCopy())
				d.Spec.Services[1].Name, d.Spec.Services[1].HTTP.Middlewares = "api", []string{"nosuch"}
			},
			want: "spec.services: Invalid value: every middleware of a service's http route must be one of middlewares; the route of service api has another one",
		},
		"two components of one name": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Components = append(d.Spec.Components, d.Spec.Components[0])
			},
			want: "spec.components[1]",
		},
		"a secret that is both copied and generated": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Secrets[0].FromSecret = &styrminv1.SecretReference{Name: "other"}
			},
			want: "exactly one of fromSecret and generate must be set",
		},
		"a component that cannot be stopped": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Components[0].ReplicasValue, d.Spec.Components[0].Running = "", ptr.To(false)
			},
			want: "a component without replicasValue cannot be stopped",
		},
		"a component's name in capitals": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.Components[0].Name = "Server" },
			want:   "spec.components[0].name in body should match",
		},
		"a hook that does nothing": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Hooks = &styrminv1.HooksSpec{Upgrade: &styrminv1.HookPhases{Pre: []styrminv1.HookAction{{}}}}
			},
			want: "spec.hooks.upgrade.pre[0]: Invalid value: exactly one of stopComponents, startComponents and runJob must be set",
		},
		"a name that is too long": {
			create: func(d *styrminv1.StyrminDeployment) { d.Name = strings.Repeat("a", 64) },
			want:   "the name must be no longer than 63 characters",
		},
		"a namespace name that is too long": {
			create: func(d *styrminv1.StyrminDeployment) { d.Name, d.Spec.TargetNamespace = strings.Repeat("a", 60), "" },
			want:   "<environment>-<name> must be no longer than 63 characters",
		},
		"a name that makes no namespace's": {
			create: func(d *styrminv1.StyrminDeployment) { d.Name, d.Spec.TargetNamespace = "shop.v1", "" },
			want:   "a name with a dot makes no name of a namespace; set targetNamespace or choose another name",
		},
		"another deployment's id": {update: func(s *spec) { s.DeploymentID = "other" }, want: "spec.deploymentId: Invalid value: deploymentId is immutable; delete the StyrminDeployment and create another one"},
		"an id where there was none": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.DeploymentID = "" },
			update: func(s *spec) { s.DeploymentID = "late" },
			want:   "spec.deploymentId: Invalid value: deploymentId cannot be set on a StyrminDeployment that was created without one",
		},
		"no deployment id any more":       {update: func(s *spec) { s.DeploymentID = "" }, want: "spec.deploymentId: Invalid value: deploymentId is immutable"},
		"another target namespace":        {update: func(s *spec) { s.TargetNamespace = "other" }, want: "spec.targetNamespace: Invalid value: targetNamespace is immutable"},
		"the default namespace after all": {update: func(s *spec) { s.TargetNamespace = "" }, want: "spec.targetNamespace: Invalid value: targetNamespace is immutable"},
		"another environment":             {update: func(s *spec) { s.Environment = "other" }, want: "spec.environment: Invalid value: environment is immutable"},
		"another release name":            {update: func(s *spec) { s.HelmRelease.ReleaseName = "other" }, want: "spec.helmRelease.releaseName: Invalid value: helmRelease.releaseName is immutable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, d := newFixture(t, newClient(t, apiServer), "shop")
			if tc.create != nil {
				tc.create(d)
			}
			err := f.client.Create(t.Context(), d)
			if tc.update != nil && err == nil {
				tc.update(&d.Spec)
				err = f.client.Update(t.Context(), d)
			}
			if err != nil && strings.Contains(err.Error(), "evaluat") {
				t.Errorf("the message is not written for people: %v", err)
			}
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the API server answered %v, want Invalid with %q", err, tc.want)
			}
		})
	}
}

// TestSpecsThatCouldNotBeReadAreRefused: what the API server stores and Go's types
// do not take would make every list of StyrminDeployments unreadable, and with it
// all deployments of the cluster. They are sent as they are, past the types.
func TestSpecsThatCouldNotBeReadAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		path  []string
		value any
		want  string
	}{
		"a port beyond 32 bits":       {[]string{"targetPort"}, int64(1) << 40, "spec.services[0].targetPort: Invalid value: 1099511627776: targetPort must be a number from 1 to 65535, or the name of a port"},
		"port 0":                      {[]string{"targetPort"}, int64(0), "targetPort must be a number from 1 to 65535, or the name of a port"},
		"a port that is no port name": {[]string{"targetPort"}, "HTTP", "spec.services[0].targetPort in body should match"},
		"a timeout that is a word":    {[]string{"spec", "helmRelease", "timeout"}, "soon", "spec.helmRelease.timeout: Invalid value: \"soon\": timeout must be a duration such as 90s or 1h30m, between 1s and 24h"},
		"a timeout without a unit":    {[]string{"spec", "helmRelease", "timeout"}, "90", "timeout must be a duration such as 90s or 1h30m, between 1s and 24h"},
		"a timeout of days":           {[]string{"spec", "helmRelease", "timeout"}, "2d", "timeout must be a duration such as 90s or 1h30m, between 1s and 24h"},
		"a timeout of a week":         {[]string{"spec", "helmRelease", "timeout"}, "168h", "timeout must be a duration such as 90s or 1h30m, between 1s and 24h"},
		"a timeout of many hours":     {[]string{"spec", "helmRelease", "timeout"}, "999999h999999h999999h999999h", "timeout must be a duration such as 90s or 1h30m, between 1s and 24h"},
		"a Job that is a word":        {[]string{"spec", "jobs"}, []any{map[string]any{"name": "migrate", "template": "run"}}, "spec.jobs[0].template"},
		"values that are a list":      {[]string{"spec", "helmRelease", "values"}, []any{"a"}, "spec.helmRelease.values"},
		"a middleware that is a word": {[]string{"spec", "middlewares"}, []any{map[string]any{"name": "compress", "spec": "yes"}}, "spec.middlewares[0].spec"},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := newFixture(t, newClient(t, apiServer), "shop")
			u := asUnstructured(t, d)
			if tc.path[0] == "targetPort" {
				services := u.Object["spec"].(map[string]any)["services"].([]any)
				services[0].(map[string]any)["targetPort"] = tc.value
			} else if err := unstructured.SetNestedField(u.Object, tc.value, tc.path...); err != nil {
				t.Fatal(err)
			}
			err := f.client.Create(t.Context(), u)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the API server answered %v, want Invalid with %q", err, tc.want)
			}
		})
	}
}

// TestEveryRefusalNamesItsField sends a value that each rule of the schema refuses.
func TestEveryRefusalNamesItsField(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	secret := func(change func(map[string]any)) []any {
		s := map[string]any{"name": "token", "generate": map[string]any{"keys": []any{"a"}}}
		change(s)
		return []any{s}
	}
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	for name, tc := range map[string]struct {
		path  string
		value any
		// want is the field that is named; empty: path.
		want string
	}{
		"an id of odd characters":              {"spec.deploymentId", "a/b", ""},
		"an id beyond a label's length":        {"spec.deploymentId", long(64), ""},
		"an empty instance":                    {"spec.instanceId", "", ""},
		"an instance beyond its length":        {"spec.instanceId", long(254), ""},
		"no environment":                       {"spec.environment", nil, ""},
		"an environment in capitals":           {"spec.environment", "Prod", ""},
		"an environment beyond its length":     {"spec.environment", long(31), ""},
		"a namespace with a dot":               {"spec.targetNamespace", "a.b", ""},
		"a version beyond its length":          {"spec.version", long(129), ""},
		"an isolation that is none":            {"spec.networkPolicy.isolation", "Total", ""},
		"an empty namespace to let in":         {"spec.networkPolicy.allowFromNamespaces", []any{""}, "spec.networkPolicy.allowFromNamespaces[0]"},
		"a namespace to let in twice":          {"spec.networkPolicy.allowFromNamespaces", []any{"a", "a"}, "spec.networkPolicy.allowFromNamespaces[1]"},
		"a secret without a name":              {"spec.secrets", secret(func(s map[string]any) { delete(s, "name") }), "spec.secrets[0].name"},
		"a secret of neither kind":             {"spec.secrets", secret(func(s map[string]any) { delete(s, "generate") }), "spec.secrets[0]"},
		"a secret without keys":                {"spec.secrets", secret(func(s map[string]any) { s["generate"] = map[string]any{"keys": []any{}} }), "spec.secrets[0].generate.keys"},
		"a value that is too short to be safe": {"spec.secrets", secret(func(s map[string]any) { s["generate"] = map[string]any{"keys": []any{"a"}, "length": int64(4)} }), "spec.secrets[0].generate.length"},
		"two secrets of one name":              {"spec.secrets", append(secret(func(map[string]any) {}), secret(func(map[string]any) {})...), "spec.secrets[1]"},
		"no release":                           {"spec.helmRelease", nil, ""},
		"a release name in capitals":           {"spec.helmRelease.releaseName", "Shop", ""},
		"no chart":                             {"spec.helmRelease.chart", nil, ""},
		"no chart version":                     {"spec.helmRelease.chart.version", "", ""},
		"no chart name":                        {"spec.helmRelease.chart.name", "", ""},
		"replicas below none":                  {"spec.components[0].replicas", int64(-1), ""},
		"replicas beyond reason":               {"spec.components[0].replicas", int64(10001), ""},
		"a path of values with a gap":          {"spec.components[0].replicasValue", "a..b", ""},
		"a component without a selector":       {"spec.components[0].selector", nil, ""},
		"a service's name that begins with 1":  {"spec.services[0].name", "1web", ""},
		"a service without a component":        {"spec.services[0].component", nil, ""},
		"port 0":                               {"spec.services[0].port", int64(0), ""},
		"a port beyond all ports":              {"spec.services[0].port", int64(65536), ""},
		"a host with a blank":                  {"spec.services[0].http.host", "a b", ""},
		"a path without a slash":               {"spec.services[0].http.path", "shop", ""},
		"a middleware without a spec":          {"spec.middlewares[0].spec", nil, ""},
		"a middleware's name in capitals":      {"spec.middlewares[0].name", "Compress", ""},
		"a job's name beyond its length":       {"spec.jobs", []any{map[string]any{"name": long(41), "template": map[string]any{}}}, "spec.jobs[0].name"},
		"a hook that stops nothing": {
			"spec.hooks", map[string]any{"upgrade": map[string]any{"pre": []any{map[string]any{"stopComponents": []any{}}}}},
			"spec.hooks.upgrade.pre[0].stopComponents",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := asUnstructured(t, d)
			setAt(u.Object, tc.path, tc.value)
			err := f.client.Create(t.Context(), u)
			want := cmp.Or(tc.want, tc.path)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want+": ") || strings.Contains(err.Error(), "evaluat") {
				t.Errorf("the API server answered %v, want Invalid that names %s", err, want)
			}
		})
	}
}

// setAt sets the field of a path such as spec.services[0].port, or removes it.
func setAt(object map[string]any, path string, value any) {
	for {
		head, rest, more := strings.Cut(path, ".")
		key, index, isList := strings.Cut(head, "[")
		if !more {
			if object[key] = value; value == nil {
				delete(object, key)
			}
			return
		}
		if isList {
			i, _ := strconv.Atoi(strings.TrimSuffix(index, "]"))
			object = object[key].([]any)[i].(map[string]any)
		} else {
			object = object[key].(map[string]any)
		}
		path = rest
	}
}

// TestAJobThatIsNoneIsItsOwnProblem: the object that holds it can be read.
func TestAJobThatIsNoneIsItsOwnProblem(t *testing.T) {
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	u := asUnstructured(t, d)
	jobs := []any{
		map[string]any{"name": "odd", "template": map[string]any{"backoffLimit": "many"}},
		map[string]any{"name": "fine", "template": map[string]any{"backoffLimit": int64(2)}},
	}
	if err := unstructured.SetNestedSlice(u.Object, jobs, "spec", "jobs"); err != nil {
		t.Fatal(err)
	}
	if err := f.client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	got := f.get()
	if _, err := got.Spec.Jobs[0].JobTemplate(); err == nil || !strings.HasPrefix(err.Error(), "the template of job odd is not a Job's spec: ") {
		t.Errorf("the odd template: %v", err)
	}
	template, err := got.Spec.Jobs[1].JobTemplate()
	if err != nil || ptr.Deref(template.BackoffLimit, 0) != 2 {
		t.Errorf("the other template: %v, %v", template, err)
	}
}

func asUnstructured(t *testing.T, d *styrminv1.StyrminDeployment) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(styrminv1.GroupVersion.WithKind(styrminv1.Kind))
	return u
}
