// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// detectFrozenWithin is how soon the truth about a frozen watch must be with the
// server.
const detectFrozenWithin = 25 * time.Second

// runningAgent is a manager with a reporter, between a real API server and a
// model server.
type runningAgent struct {
	server   *modelServer
	registry *prometheus.Registry
	stop     func()
}

// startAgent starts a manager that reports the given namespaces.
func startAgent(t *testing.T, config *rest.Config, server *modelServer, namespaces ...string) *runningAgent {
	t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 testScheme(t),
		Logger:                 testr.New(t),
		Cache:                  cache.Options{ByObject: CacheByObject()},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	agent := &runningAgent{server: server, registry: prometheus.NewRegistry()}
	err = SetupWithManager(mgr, Options{
		ServerAddress: server.URL, AgentID: "agent-0", AgentVersion: "test", Namespaces: namespaces,
		Interval: time.Second, Metrics: agent.registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	agent.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("The manager ended with: %v", err)
		}
	}
	t.Cleanup(func() { agent.stop() })
	return agent
}

// within polls until the server has exactly these pods, and returns how long
// that took.
func (a *runningAgent) within(t *testing.T, limit time.Duration, want ...string) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		got := a.server.podNames()
		took := time.Since(began)
		if slices.Equal(got, want) {
			return took
		}
		if took > limit {
			t.Fatalf("After %s the server has %v, want %v", limit, got, want)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// observedAges returns how old the data of each report of pods was when it was
// sent.
func observedAges(requests []modelRequest) []time.Duration {
	var ages []time.Duration
	for i := range requests {
		if header := &requests[i].Variables.Report; requests[i].OperationName == "ReportPodStatuses" {
			ages = append(ages, header.SentAt.Sub(header.ObservedAt))
		}
	}
	return ages
}

func createPod(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       podSpec(1),
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

func TestP2AFrozenWatchIsDetectedAndThePodsAreListedLive(t *testing.T) {
	t.Parallel()
	direct := sharedConfig(t)
	c := testClient(t, direct)
	const namespace = "frozen"
	createNamespace(t, c, namespace)
	createPod(t, c, namespace, "before")
	proxy, config := newProxy(t, direct)
	agent := startAgent(t, config, newModelServer(t), namespace)
	agent.within(t, 20*time.Second, namespace+"/before")

	proxy.freeze()
	createPod(t, c, namespace, "while-frozen")
	took := agent.within(t, detectFrozenWithin, namespace+"/before", namespace+"/while-frozen")
	t.Logf("The server knew of the pod %s after the watch had frozen", took.Round(100*time.Millisecond))

	for _, age := range observedAges(agent.server.received()) {
		if age > maxProofAge+time.Second {
			t.Errorf("Data %s old was reported", age)
		}
	}
	if got := agent.count(t, liveLists); got == 0 {
		t.Error("No live list is counted")
	}
}

// count returns the value of one of the agent's metrics.
func (a *runningAgent) count(t *testing.T, metric func(*instruments) prometheus.Collector) float64 {
	t.Helper()
	registered, err := newInstruments(a.registry)
	if err != nil {
		t.Fatal(err)
	}
	return testutil.ToFloat64(metric(registered))
}

func liveLists(i *instruments) prometheus.Collector {
	return i.liveLists.WithLabelValues(string(kindPods), "success")
}

func unread(k kind) func(*instruments) prometheus.Collector {
	return func(i *instruments) prometheus.Collector { return i.unread.WithLabelValues(string(k)) }
}

// waitUnread waits until n snapshots more have gone without the kind.
func (a *runningAgent) waitUnread(t *testing.T, k kind, n float64, limit time.Duration) {
	t.Helper()
	target := a.count(t, unread(k)) + n
	for began := time.Now(); a.count(t, unread(k)) < target; <-time.After(20 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("After %s the %s are still reported", limit, k)
		}
	}
}

func TestP2WithoutTheAPIServerNothingIsReportedAndNothingIsDeleted(t *testing.T) {
	t.Parallel()
	direct := sharedConfig(t)
	c := testClient(t, direct)
	const namespace = "away"
	createNamespace(t, c, namespace)
	createPod(t, c, namespace, "before")
	proxy, config := newProxy(t, direct)
	agent := startAgent(t, config, newModelServer(t), namespace)
	agent.within(t, 20*time.Second, namespace+"/before")

	proxy.refuse(true)
	proxy.drop()
	agent.server.received()
	// Reports may go on while the last proof is young enough.
	agent.waitUnread(t, kindPods, 1, maxProofAge+10*time.Second)
	agent.waitUnread(t, kindDeployments, 1, maxProofAge+10*time.Second)
	for i, age := range observedAges(agent.server.received()) {
		if age > maxProofAge+time.Second {
			t.Errorf("report %d has data %s old", i, age)
		}
	}
	agent.waitUnread(t, kindPods, 3, 20*time.Second)
	if got := operations(agent.server.received()); len(got) != 0 {
		t.Errorf("It still sends %v", got)
	}
	agent.within(t, 0, namespace+"/before")

	createPod(t, c, namespace, "while-away")
	proxy.refuse(false)
	took := agent.within(t, 40*time.Second, namespace+"/before", namespace+"/while-away")
	t.Logf("The server knew of the pod %s after the API server was back", took.Round(100*time.Millisecond))
}

func TestP2AnAPIServerThatRestartsWithAColdWatchCacheLosesNothing(t *testing.T) {
	t.Parallel()
	env, config := ownEnvironment(t)
	c := testClient(t, config)
	const namespace = "restarted"
	createNamespace(t, c, namespace)
	createPod(t, c, namespace, "stays")
	createPod(t, c, namespace, "goes")
	agent := startAgent(t, config, newModelServer(t), namespace)
	agent.within(t, 20*time.Second, namespace+"/goes", namespace+"/stays")

	apiServer := env.ControlPlane.GetAPIServer()
	if err := apiServer.Stop(); err != nil {
		t.Fatal(err)
	}
	agent.waitUnread(t, kindPods, 1, maxProofAge+10*time.Second)
	agent.within(t, 0, namespace+"/goes", namespace+"/stays")
	if err := apiServer.Start(); err != nil {
		t.Fatal(err)
	}
	gone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "goes"}}
	if err := c.Delete(t.Context(), gone, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	took := agent.within(t, 40*time.Second, namespace+"/stays")
	t.Logf("The server knew of the change %s after the restart", took.Round(100*time.Millisecond))
}

// TestP3AMissingRightStopsOneKindOnly is case H02.
func TestP3AMissingRightStopsOneKindOnly(t *testing.T) {
	t.Parallel()
	direct := sharedConfig(t)
	c := testClient(t, direct)
	const namespace = "forbidden"
	createNamespace(t, c, namespace)
	createPod(t, c, namespace, "shop-0")
	config := userWith(t, c, "no-deployments", reporterRules()[:2])
	agent := startAgent(t, config, newModelServer(t), namespace)
	agent.within(t, 20*time.Second, namespace+"/shop-0")
	agent.waitUnread(t, kindDeployments, 2, 20*time.Second)
	forbidden := func(i *instruments) prometheus.Collector {
		return i.proofs.WithLabelValues(string(kindDeployments), "forbidden")
	}
	if got := agent.count(t, forbidden); got == 0 {
		t.Error("The metric does not say that it is forbidden")
	}
	for _, operation := range operations(agent.server.received()) {
		if operation == "ReportDeploymentStatuses" {
			t.Error("The kind that it may not list was reported")
		}
	}
}

// TestTheDeclaredRightsSuffice makes sure that the reporter needs no more than
// its RBAC markers ask for.
func TestTheDeclaredRightsSuffice(t *testing.T) {
	t.Parallel()
	direct := sharedConfig(t)
	c := testClient(t, direct)
	const namespace = "rights"
	createNamespace(t, c, namespace)
	createPod(t, c, namespace, "shop-0")
	proxy, config := newProxy(t, userWith(t, c, "declared-rights", reporterRules()))
	agent := startAgent(t, config, newModelServer(t), namespace)
	agent.within(t, 20*time.Second, namespace+"/shop-0")
	eventually(t, "deployments are reported", func() bool { return len(agent.server.sequencesOf(kindDeployments)) > 0 })
	proxy.freeze() // so that it lists live, too
	createPod(t, c, namespace, "shop-1")
	agent.within(t, detectFrozenWithin, namespace+"/shop-0", namespace+"/shop-1")
	if got := agent.count(t, liveLists); got == 0 {
		t.Error("Nothing was listed live, the test is wrong")
	}
}

func TestCaseH05DeletingTheDefinitionDeletesNoDeployments(t *testing.T) {
	t.Parallel()
	_, config := ownEnvironment(t)
	c := testClient(t, config)
	const namespace = "uninstalled"
	createNamespace(t, c, namespace)
	if err := c.Create(t.Context(), clusterDeployment(namespace)); err != nil {
		t.Fatal(err)
	}
	server := newModelServer(t)
	agent := startAgent(t, config, server, namespace)
	eventually(t, "the deployment is reported", func() bool { return len(server.deploymentNames()) == 1 })

	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "styrmindeployments.styrmin.io"}}
	if err := c.Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	agent.waitUnread(t, kindDeployments, 5, maxProofAge+10*time.Second)
	if diff := cmp.Diff([]string{"shop"}, server.deploymentNames()); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
}

// reporterRules are the rights that the markers in setup.go ask for.
func reporterRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}},
		{APIGroups: []string{"styrmin.io"}, Resources: []string{"styrmindeployments"}, Verbs: []string{"list", "watch"}},
	}
}

// userWith returns a configuration of a user that has these rights only.
func userWith(t *testing.T, c client.Client, name string, rules []rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	user, err := sharedEnvironment.env.AddUser(envtest.User{Name: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return user.Config()
}

func clusterDeployment(namespace string) *styrminv1.StyrminDeployment {
	return &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
		Spec: styrminv1.StyrminDeploymentSpec{
			Environment: "prod", TargetNamespace: namespace,
			HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "shop",
				Chart:       styrminv1.ChartSpec{Repository: "https://charts.example", Name: "shop", Version: "1.0.0"},
			},
			Components: []styrminv1.ComponentSpec{{Name: "server", Replicas: 1}},
		},
	}
}

func TestP1AManagerReportsWhatIsInTheCluster(t *testing.T) {
	t.Parallel()
	config := sharedConfig(t)
	c := testClient(t, config)
	const namespace = "reported"
	createNamespace(t, c, namespace)
	createNamespace(t, c, "not-reported")
	createPod(t, c, namespace, "shop-0")
	createPod(t, c, "not-reported", "other-0")
	if err := c.Create(t.Context(), clusterDeployment(namespace)); err != nil {
		t.Fatal(err)
	}
	server := newModelServer(t)
	agent := startAgent(t, config, server, namespace)
	agent.within(t, 20*time.Second, namespace+"/shop-0")
	eventually(t, "the deployment is reported", func() bool { return len(server.deploymentNames()) == 1 })
	for _, pod := range server.storedPods() {
		if got := deref(pod.Component); got != "server" {
			t.Errorf("component = %q, want server", got)
		}
	}

	for i := range 3 {
		createPod(t, c, namespace, fmt.Sprintf("shop-%d", i+1))
	}
	took := agent.within(t, 10*time.Second, namespace+"/shop-0", namespace+"/shop-1", namespace+"/shop-2", namespace+"/shop-3")
	t.Logf("The server knew of new pods after %s", took.Round(10*time.Millisecond))
	if err := c.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	agent.within(t, 10*time.Second)

	agent.stop()
	agent.stop = func() {}
	server.change(func() {
		server.intercept = func(http.ResponseWriter, *http.Request, *modelRequest) bool {
			t.Error("A report came after the manager had ended")
			return false
		}
	})
	createPod(t, c, namespace, "after-the-end")
	if diff := cmp.Diff([]string{}, server.podNames()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}
