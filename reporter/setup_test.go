// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

func TestOptionsThatAreMissingOrWrongAreNamed(t *testing.T) {
	good := Options{ServerAddress: "https://styrmin.example", AgentID: "agent-0", AgentVersion: "v1"}
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"nothing is wrong":         {func(*Options) {}, ""},
		"no server":                {func(o *Options) { o.ServerAddress = "" }, "ServerAddress is required"},
		"no agent":                 {func(o *Options) { o.AgentID = "" }, "AgentID is required"},
		"no version":               {func(o *Options) { o.AgentVersion = "" }, "AgentVersion is required"},
		"an interval below zero":   {func(o *Options) { o.Interval = -time.Second }, "Interval must not be negative"},
		"a time limit below zero":  {func(o *Options) { o.RequestTimeout = -1 }, "RequestTimeout must not be negative"},
		"an interval of its own":   {func(o *Options) { o.Interval = time.Minute }, ""},
		"a time limit of its own ": {func(o *Options) { o.RequestTimeout = time.Minute }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			options := good
			tc.change(&options)
			completed, err := options.complete()
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error = %v, want %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if completed.Interval == 0 || completed.RequestTimeout == 0 || completed.Clock == nil || completed.Metrics == nil {
				t.Errorf("A default is missing: %+v", completed)
			}
			if options.Interval != 0 && completed.Interval != options.Interval {
				t.Errorf("Interval = %s, want %s", completed.Interval, options.Interval)
			}
		})
	}
}

func TestP1ByDefaultAReportIsDueEachFiveSecondsAndHasTen(t *testing.T) {
	options, err := Options{ServerAddress: "https://styrmin.example", AgentID: "agent-0", AgentVersion: "v1"}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if got := options.Interval; got != 5*time.Second {
		t.Errorf("Interval = %s, want 5s", got)
	}
	// P5: a request has a deadline.
	if got := options.RequestTimeout; got != 10*time.Second {
		t.Errorf("RequestTimeout = %s, want 10s", got)
	}
}

func TestP9TheMetricsTellHowReportingGoes(t *testing.T) {
	h := newHarness(t)
	h.pods.objects = []*corev1.Pod{testPod("a", "a-0"), testPod("a", "a-1")}
	h.deployments.err = errTest
	mustCycle(t, newLoop(h.reporter))
	now := float64(testStart.Unix())
	want := map[string]float64{
		"reports_total session success":       1,
		"reports_total pods success":          1,
		"report_duration_seconds pods":        1,
		"objects pods":                        2,
		"last_success_timestamp_seconds pods": now,
		"proven_timestamp_seconds pods":       now,
		"rejected_rows_total pods":            0,
		"snapshot_duration_seconds":           1,
		"superseded":                          0,
		"unread_total styrmindeployments":     1,
	}
	if diff := cmp.Diff(want, gather(t, h.registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// gather returns what the reporter's metrics say, of a histogram how often it was
// told something, by their names and the values of their labels.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "styrmin_reporter_")
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			switch {
			case metric.Counter != nil:
				got[name] = metric.Counter.GetValue()
			case metric.Gauge != nil:
				got[name] = metric.Gauge.GetValue()
			default:
				got[name] = float64(metric.Histogram.GetSampleCount())
			}
		}
	}
	return got
}

// recordingManager keeps what is added to a manager.
type recordingManager struct {
	ctrl.Manager
	checks    map[string]healthz.Checker
	runnables []manager.Runnable
}

func (m *recordingManager) AddReadyzCheck(name string, check healthz.Checker) error {
	m.checks[name] = check
	return m.Manager.AddReadyzCheck(name, check)
}

func (m *recordingManager) Add(runnable manager.Runnable) error {
	m.runnables = append(m.runnables, runnable)
	return m.Manager.Add(runnable)
}

// setUp sets a reporter up, for the harness's server and clock, with a manager whose
// API server is not there, and returns its readiness check with it.
func setUp(t *testing.T, h *harness) (*reporter, healthz.Checker) {
	t.Helper()
	plain, err := ctrl.NewManager(&rest.Config{Host: nowhere()}, ctrl.Options{
		Scheme: testScheme(t), Logger: testr.New(t), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	mgr := &recordingManager{Manager: plain, checks: map[string]healthz.Checker{}}
	err = SetupWithManager(mgr, Options{
		ServerAddress: h.server.URL, AgentID: "agent-0", AgentVersion: "v1", Clock: h.fakeClock, Metrics: h.registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(mgr.runnables) != 1 || mgr.checks["reporter"] == nil {
		t.Fatalf("The manager has %d runnables and the readiness checks %v", len(mgr.runnables), mgr.checks)
	}
	return mgr.runnables[0].(*reporter), mgr.checks["reporter"]
}

func TestP9TheManagersReadinessFailsWhenNothingIsReportedForAMinute(t *testing.T) {
	h := newHarness(t)
	var check healthz.Checker
	h.reporter, check = setUp(t, h)
	running := start(t, h)
	defer running.stop(t)
	eventually(t, "something waits for the clock", h.fakeClock.HasWaiters)
	h.fakeClock.Step(60 * time.Second)
	if err := check(nil); err != nil {
		t.Errorf("After a minute it is not ready: %v", err)
	}
	h.fakeClock.Step(time.Second)
	err := check(nil)
	for _, want := range []string{"pods have not been reported for 1m1s", "styrmindeployments have not been reported for 1m1s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}

func TestP9TheMetricsCountWhatIsSentBeforeAndAfterCompression(t *testing.T) {
	h := newHarness(t)
	h.pods.objects = []*corev1.Pod{testPod("a", "a-0"), testPod("a", "a-1")}
	r, _ := setUp(t, h)
	r.pods, r.deployments, r.clusterUID = h.pods, h.deployments, h.reporter.clusterUID
	mustCycle(t, newLoop(r))
	want := map[string]float64{}
	for _, request := range h.server.received() {
		want["sent_bytes_total raw "+request.OperationName] = float64(len(request.raw))
		want["sent_bytes_total gzip "+request.OperationName] = float64(request.compressed)
	}
	if len(want) != 6 {
		t.Fatalf("The server has received %v", want)
	}
	got := gather(t, h.registry)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.HasPrefix(name, "sent_bytes_total ") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestMetricsOfAReporterBeforeThisOneAreUsedOn(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := newInstruments(registry)
	if err != nil {
		t.Fatal(err)
	}
	second, err := newInstruments(registry)
	if err != nil {
		t.Fatal(err)
	}
	if first.reports != second.reports || first.superseded != second.superseded {
		t.Error("The second has metrics that nobody sees")
	}
	clash := prometheus.NewRegistry()
	clash.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "styrmin_reporter_superseded", Help: "Something else."}))
	if _, err := newInstruments(clash); err == nil {
		t.Error("A name that is taken by something else is no error")
	}
}

func TestP7TheTransformDropsWhatIsNotOnItsList(t *testing.T) {
	pod := testPod("a", "a-0", func(p *corev1.Pod) {
		p.Annotations = map[string]string{"checksum/config": "x"}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
		p.Finalizers = []string{"example.com/hold"}
		p.Spec.Volumes = []corev1.Volume{{Name: "data"}}
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}
		p.Status.PodIP = "10.0.0.1"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{containerStatus("app", running(true))}
	})
	want := testPod("a", "a-0", func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{containerStatus("app", running(true))}
		p.Status.ContainerStatuses[0].ImageID = ""
	})
	for range 2 { // an informer may transform what is transformed
		transformed, err := podTransform(pod)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, transformed); diff != "" {
			t.Errorf("pod (-want +got):\n%s", diff)
		}
	}

	deployment := testDeployment("shop", func(d *styrminv1.StyrminDeployment) {
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "styrmin-operator"}}
	})
	transformed, err := deploymentTransform(deployment)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(testDeployment("shop"), transformed); diff != "" {
		t.Errorf("deployment (-want +got):\n%s", diff)
	}
	if got, err := podTransform("a tombstone"); got != "a tombstone" || err != nil {
		t.Errorf("podTransform of something else = %v, %v", got, err)
	}
}
