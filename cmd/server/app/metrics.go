// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/graph"
	"github.com/styrmin/styrmin/server/store"
)

func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// metricsHandler serves /metrics to everyone on this machine where it listens on
// loopback, and elsewhere to holders of a viewer's or an admin's token.
func (p *Program) metricsHandler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
	if !isLoopback(p.metricsListener) {
		metrics = p.forReaders(metrics)
	}
	mux.Handle("/metrics", metrics)
	return mux
}

// forReaders refuses callers that may not read everything.
func (p *Program) forReaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := graph.Identify(r, p.store)
		switch code := server.CodeOf(err); {
		case err == nil && (caller.Role == server.RoleViewer || caller.Role == server.RoleAdmin):
			next.ServeHTTP(w, r)
		case err == nil:
			writeLine(w, http.StatusForbidden, "the metrics are for tokens of viewers and admins")
		case code == server.CodeInternal:
			p.log.Error(err, "Failed to identify who scrapes the metrics")
			writeLine(w, http.StatusInternalServerError, "the database does not answer")
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeLine(w, http.StatusUnauthorized, err.Error())
		}
	})
}

// observeDatabase measures the use cases of the store. A refusal is a result,
// not a failure of the database.
func observeDatabase(registry prometheus.Registerer) store.Observer {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "styrmin_server_database_seconds",
		Help:    "How long a use case took in the database, with the wait for its turn, by use case and result.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 3, 10),
	}, []string{"use_case", "result"})
	registry.MustRegister(durations)
	return func(useCase string, elapsed time.Duration, err error) {
		result := "ok"
		switch {
		case err == nil:
		case server.CodeOf(err) == server.CodeInternal:
			result = "failed"
		default:
			result = "refused"
		}
		durations.WithLabelValues(useCase, result).Observe(elapsed.Seconds())
	}
}

// collectTimeout bounds how long a scrape waits for the database.
const collectTimeout = 5 * time.Second

var (
	lastReportAge = prometheus.NewDesc("styrmin_server_cluster_last_report_age_seconds",
		"Age of the last complete report of a cluster, by the server's clock.", []string{"cluster"}, nil)
	dataAge = prometheus.NewDesc("styrmin_server_cluster_data_age_seconds",
		"How old the data of a cluster's last complete report was when it was sent.", []string{"cluster"}, nil)
	clusterPods = prometheus.NewDesc("styrmin_server_cluster_pods",
		"Observed pods of a cluster.", []string{"cluster"}, nil)
	clusterDeployments = prometheus.NewDesc("styrmin_server_cluster_deployments",
		"Observed StyrminDeployments of a cluster.", []string{"cluster"}, nil)
	tasks = prometheus.NewDesc("styrmin_server_tasks",
		"Tasks by kind and result.", []string{"kind", "result"}, nil)
	oldestStep = prometheus.NewDesc("styrmin_server_oldest_running_step_seconds",
		"How long the step has been running that runs the longest, by kind; 0 where none runs.", []string{"kind"}, nil)
)

// stateCollector reads the state of clusters and tasks when it is asked for.
type stateCollector struct {
	store *store.Store
	log   logr.Logger
}

func (c *stateCollector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- lastReportAge
	descriptions <- dataAge
	descriptions <- clusterPods
	descriptions <- clusterDeployments
	descriptions <- tasks
	descriptions <- oldestStep
}

func (c *stateCollector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	c.collectClusters(ctx, metrics)
	c.collectTasks(ctx, metrics)
	c.collectSteps(ctx, metrics)
}

func (c *stateCollector) collectSteps(ctx context.Context, metrics chan<- prometheus.Metric) {
	oldest, err := c.store.OldestRunningSteps(ctx)
	if err != nil {
		c.log.Error(err, "Failed to look for running steps for the metrics")
		metrics <- prometheus.NewInvalidMetric(oldestStep, err)
		return
	}
	age := map[server.StepKind]float64{server.StepFlow: 0, server.StepHook: 0, server.StepOperatorPhase: 0}
	for _, step := range oldest {
		age[step.Kind] = time.Since(step.StartedAt).Seconds()
	}
	for kind, seconds := range age {
		metrics <- prometheus.MustNewConstMetric(oldestStep, prometheus.GaugeValue, seconds, string(kind))
	}
}

func (c *stateCollector) collectTasks(ctx context.Context, metrics chan<- prometheus.Metric) {
	counts, err := c.store.CountTasks(ctx)
	if err != nil {
		c.log.Error(err, "Failed to count the tasks for the metrics")
		metrics <- prometheus.NewInvalidMetric(tasks, err)
		return
	}
	for _, n := range counts {
		metrics <- prometheus.MustNewConstMetric(tasks, prometheus.GaugeValue, float64(n.Count), string(n.Kind), string(n.Result))
	}
}

func (c *stateCollector) collectClusters(ctx context.Context, metrics chan<- prometheus.Metric) {
	clusters, err := c.store.Clusters(ctx)
	if err != nil {
		c.log.Error(err, "Failed to read the clusters for the metrics")
		metrics <- prometheus.NewInvalidMetric(lastReportAge, err)
		return
	}
	gauge := func(description *prometheus.Desc, value float64, cluster string) {
		metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, cluster)
	}
	for _, cluster := range clusters {
		if since := cluster.SilentSince(); since != nil {
			gauge(lastReportAge, time.Since(*since).Seconds(), cluster.Name)
		}
		if cluster.DataAgeSeconds != nil {
			gauge(dataAge, *cluster.DataAgeSeconds, cluster.Name)
		}
		gauge(clusterPods, float64(cluster.Pods), cluster.Name)
		gauge(clusterDeployments, float64(cluster.Deployments), cluster.Name)
	}
}
