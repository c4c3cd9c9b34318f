// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"
)

func TestOptionsThatAreWrongAreNamed(t *testing.T) {
	good := Options{ServerAddress: "http://127.0.0.1:1", AgentID: "agent", Metrics: prometheus.NewRegistry()}
	for want, change := range map[string]func(*Options){
		"ServerAddress is required":                func(o *Options) { o.ServerAddress = "" },
		"AgentID is required":                      func(o *Options) { o.AgentID = "" },
		"Patience must not be negative":            func(o *Options) { o.Patience = -1 },
		"the Lease must be whole seconds":          func(o *Options) { o.Lease = 1500 * time.Millisecond },
		"the number of Flows must not be negative": func(o *Options) { o.Flows = -1 },
		"server address: has no host":              func(o *Options) { o.ServerAddress = "http://" },
		"token file: open /nowhere/token":          func(o *Options) { o.TokenFile = "/nowhere/token" },
		"CA file: open /nowhere/ca.pem":            func(o *Options) { o.CAFile = "/nowhere/ca.pem" },
	} {
		t.Run(want, func(t *testing.T) {
			options := good
			change(&options)
			if _, err := newWorker(options, ctrl.Log, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}

func TestW3EachRunOfAWorkerHasANameOfItsOwn(t *testing.T) {
	long := newWorkerID(strings.Repeat("x", 300))
	first, second := newWorkerID("agent"), newWorkerID("agent")
	if first == second || len(long) > 253 {
		t.Errorf("names: %s, %s, %s", first, second, long)
	}
}

// TestTheShippedRoleSuffices runs the worker in a manager, as the agent does, with
// the rights of its markers and no others.
func TestTheShippedRoleSuffices(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mgr, err := ctrl.NewManager(s.limited(), manager.Options{
		Scheme: s.cluster.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = SetupWithManager(mgr, Options{
		ServerAddress: suite.server.url, TokenFile: s.tokenFile, AgentID: "agent", PollInterval: 30 * time.Millisecond,
		Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.running(shopSpec("2.4.0"))
	s.target(s.deployment)
	task := s.change(`runJob(deploymentId: $d, job: "migrate")`)
	s.complete(s.job(task))
	s.wantResult(task, "SUCCEEDED", "")
	s.wantResult(s.upgrade("2.5.0"), "SUCCEEDED", "")
	s.wantResult(s.change("deleteDeployment(id: $d)"), "SUCCEEDED", "")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the manager ended with %v", err)
	}
}

func TestTheWorkerRunsOnTheLeaderOnly(t *testing.T) {
	var runnable manager.LeaderElectionRunnable = &worker{}
	if !runnable.NeedLeaderElection() {
		t.Error("it runs without leading")
	}
}

// markers are the rights that the package's markers ask for.
func markers(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			marker, ok := strings.CutPrefix(strings.TrimSpace(line), "// +kubebuilder:rbac:")
			if !ok {
				continue
			}
			fields := map[string][]string{}
			for field := range strings.SplitSeq(marker, ",") {
				name, values, _ := strings.Cut(field, "=")
				fields[name] = strings.Split(strings.Trim(values, `"`), ";")
			}
			rules = append(rules, rbacv1.PolicyRule{APIGroups: fields["groups"], Resources: fields["resources"], Verbs: fields["verbs"]})
		}
	}
	return rules
}

// limited returns the configuration of a user with those rights.
func (s *stage) limited() *rest.Config {
	s.Helper()
	name := "worker-" + s.environment
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: markers(s.T)}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := s.cluster.Create(s.Context(), object); err != nil {
			s.Fatal(err)
		}
	}
	config := rest.CopyConfig(suite.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	return config
}

// TestTheMarkersAreWhatTheWorkerUses: each right was needed above, and the role that
// is shipped has them all.
func TestTheMarkersAreWhatTheWorkerUses(t *testing.T) {
	var asked []string
	for _, rule := range markers(t) {
		for _, verb := range rule.Verbs {
			for _, resource := range rule.Resources {
				asked = append(asked, verb+" "+resource)
			}
		}
	}
	slices.Sort(asked)
	want := []string{
		"create jobs", "create namespaces", "create styrmindeployments", "delete styrmindeployments",
		"get jobs", "get namespaces", "get styrmindeployments", "list pods", "patch styrmindeployments",
	}
	if diff := cmp.Diff(want, slices.Compact(asked)); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join("..", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shipped := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(data, shipped); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range want {
		verb, resource, _ := strings.Cut(wanted, " ")
		if !slices.ContainsFunc(shipped.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.Verbs, verb) && slices.Contains(rule.Resources, resource) && len(rule.ResourceNames) == 0
		}) {
			t.Errorf("the shipped role does not allow to %s", wanted)
		}
	}
}
