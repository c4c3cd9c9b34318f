// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// notSeen are the permissions of the shipped role that the lives of this test do
// not use, with what does.
var notSeen = map[string]string{
	"patch events.events.k8s.io":                         "an event that happens again",
	"list replicasets.apps":                              "the newest revision, while pods of several run and some fail",
	"list horizontalpodautoscalers.autoscaling":          "the message about replicas that differ",
	"get styrmindeployments.styrmin.io":                  "the worker",
	"create styrmindeployments.styrmin.io":               "the worker",
	"delete styrmindeployments.styrmin.io":               "the worker",
	"get jobs.batch":                                     "the worker",
	"create jobs.batch":                                  "the worker",
	"get namespaces":                                     "the reporter, for the cluster's UID",
	"get helmcharts.source.toolkit.fluxcd.io":            "the message of a chart that is not there",
	"get customresourcedefinitions.apiextensions.k8s.io": "the readiness check of the served schema",
}

// shippedRole reads the role that is generated from the markers.
func shippedRole(t *testing.T) *rbacv1.ClusterRole {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(bytes.TrimPrefix(data, []byte("---\n")), role); err != nil {
		t.Fatal(err)
	}
	return role
}

// permissions returns a role's permissions as "<verb> <resource>[.<group>]".
func permissions(role *rbacv1.ClusterRole) map[string]bool {
	out := map[string]bool{}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			for _, resource := range rule.Resources {
				for _, group := range rule.APIGroups {
					out[permissionName(verb, resource, group)] = true
				}
			}
		}
	}
	return out
}

func permissionName(verb, resource, group string) string {
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

// restricted returns a config of a user that has the shipped role and no more,
// and that role as it is in the cluster. reduce may take from its rules: the API
// server learns of a later change with a delay.
func restricted(t *testing.T, reduce func(*rbacv1.PolicyRule)) (*rest.Config, *rbacv1.ClusterRole) {
	t.Helper()
	admin := newClient(t, apiServer)
	role := shippedRole(t)
	for i := range role.Rules {
		reduce(&role.Rules[i])
	}
	role.Name = strings.ToLower(t.Name()) // It may remember that of another test.
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
	}
	for _, create := range []func() error{
		func() error { return admin.Create(t.Context(), role) },
		func() error { return admin.Create(t.Context(), binding) },
	} {
		if err := create(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(admin.Delete(ctx, role), admin.Delete(ctx, binding)); err != nil {
			t.Errorf("removing the role: %v", err)
		}
	})
	config := rest.CopyConfig(apiServer)
	config.Impersonate = rest.ImpersonationConfig{UserName: role.Name}
	return config, role
}

// TestCaseH02ShippedRole: the whole life of a deployment with the shipped role
// and nothing else, which proves that it has enough; and everything in it was
// used, which proves that it has no more.
func TestCaseH02ShippedRole(t *testing.T) {
	w := &wire{}
	config, _ := restricted(t, func(*rbacv1.PolicyRule) {})
	startOperator(t, w.tapped(config), fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: "source"}}
	if err := f.client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	d.Spec.Secrets = append(d.Spec.Secrets, styrminv1.SecretSpec{Name: "copy", FromSecret: &styrminv1.SecretReference{Name: "source"}})
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	eventually(t, "an event", func() error {
		if len(w.all(func(r request) bool { return r.resource == "events" })) == 0 {
			return errText("there was none")
		}
		return nil
	})
	f.delete()
	f.waitGone()

	used := map[string]bool{}
	for _, r := range w.all(func(r request) bool { return r.group != "" || r.resource != "" }) {
		verbs := []string{r.verb}
		switch r.verb {
		case "patch": // An apply may create.
			verbs = append(verbs, "create")
		case "watch": // Where the API server cannot stream the list with it.
			verbs = append(verbs, "list")
		}
		for _, verb := range verbs {
			used[permissionName(verb, r.resource, r.group)] = true
			if r.group == traefikGroups[0].Group { // The old group is used in the same way.
				used[permissionName(verb, r.resource, traefikGroups[1].Group)] = true
			}
		}
	}
	var unused []string
	for _, p := range slices.Sorted(maps.Keys(permissions(shippedRole(t)))) {
		if !used[p] && notSeen[p] == "" {
			unused = append(unused, p)
		}
	}
	if diff := cmp.Diff([]string(nil), unused); diff != "" {
		t.Errorf("the role allows what the operator does not do:\n%s", diff)
	}
}

// TestCaseH02ReviewKnowsTheRole: what the review asks for is what the markers make.
func TestCaseH02ReviewKnowsTheRole(t *testing.T) {
	shipped := permissions(shippedRole(t))
	reviewed := map[string]bool{}
	for _, p := range neededPermissions() {
		name := permissionName(p.verb, p.resource, p.group)
		reviewed[name] = true
		if !shipped[name] {
			t.Errorf("the role lacks %s, which the operator needs", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shipped)) {
		if by := notSeen[name]; !reviewed[name] && by != "the worker" && by != "the reporter, for the cluster's UID" {
			t.Errorf("the role has %s, which the review does not ask for", name)
		}
	}
}

// TestCaseH02MissingPermissionsAreNamed: each by its verb and resource, until the
// role has it.
func TestCaseH02MissingPermissionsAreNamed(t *testing.T) {
	config, role := restricted(t, func(rule *rbacv1.PolicyRule) {
		if slices.Contains(rule.Resources, "services") {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == "patch" })
		}
		if slices.Contains(rule.Resources, "styrmindeployments/status") {
			rule.Verbs = []string{"get"}
		}
	})
	admin := newClient(t, apiServer)
	mgr := newManager(t, config, nil, nil)
	review := &startReview{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), cache: mgr.GetCache(),
		interval: 50 * time.Millisecond, asked: make(chan struct{}, 1),
	}
	if err := mgr.Add(review); err != nil {
		t.Fatal(err)
	}
	if err := review.check(nil); err == nil {
		t.Error("the operator is ready before it has looked")
	}
	start(t, mgr)
	lacks := func(what string) string { return "the operator may not " + what + ": its role lacks that" }
	want := strings.Join([]string{
		lacks("patch styrmindeployments/status.styrmin.io"), lacks("patch namespaces"), lacks("patch secrets"), lacks("patch services"),
	}, "; ")
	eventually(t, "the permissions to be named", func() error {
		if err := review.check(nil); err == nil || err.Error() != want {
			return fmt.Errorf("the check says: %w", err)
		}
		return nil
	})
	if got := testutil.ToFloat64(startProblems); got != 4 {
		t.Errorf("%v problems are counted, want 4", got)
	}
	role.Rules = shippedRole(t).Rules
	if err := admin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the operator to be ready", func() error { return review.check(nil) })
}

// TestCaseH02AnOptionalKindThatMayNotBeListed does not leave a deployment without
// a word, though its cache never syncs.
func TestCaseH02AnOptionalKindThatMayNotBeListed(t *testing.T) {
	config, _ := restricted(t, func(rule *rbacv1.PolicyRule) {
		if slices.Contains(rule.Resources, "helmreleases") {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == "list" || verb == "watch" })
		}
	})
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	startOperator(t, config, fast(), nil)
	f.create(d)
	eventually(t, "the status to say why nothing goes on", func() error {
		got := f.get().Status
		if want := "has not let all objects of the kind be listed"; !strings.Contains(got.Message, want) {
			return errText(got.Message)
		}
		return nil
	})
}

// TestCaseH02SecretsAreNotCached: their contents are read one by one, and of their
// metadata only what the operator made and what may be copied is watched.
func TestCaseH02SecretsAreNotCached(t *testing.T) {
	w := &wire{}
	startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: "source"}}
	if err := f.client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	d.Spec.Secrets = append(d.Spec.Secrets, styrminv1.SecretSpec{Name: "copy", FromSecret: &styrminv1.SecretReference{Name: "source"}})
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	watched := w.all(func(r request) bool { return r.resource == "secrets" && (r.verb == "list" || r.verb == "watch") })
	seen := map[bool]bool{}
	for _, r := range watched {
		copies := r.namespace == f.key.Namespace
		seen[copies] = true
		if !r.metadataOnly {
			t.Errorf("secrets were read as a whole by %s", r)
		}
		if !copies && !strings.HasPrefix(r.selector, styrminv1.LabelDeploymentID) {
			t.Errorf("foreign secrets were read by %s with selector %q", r, r.selector)
		}
	}
	if len(seen) != 2 {
		t.Errorf("the test saw only %v", watched)
	}
}
