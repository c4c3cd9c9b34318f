// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/internal/serverclient"
)

const (
	// fullReportInterval is how often everything travels, acknowledged or not (P7).
	fullReportInterval = 10 * time.Minute
	// startRowBytes is how much of rows goes in one report, before compression,
	// until it is known how much the server takes in time, and maxRowBytes the
	// most. What is over it follows with the next ones.
	startRowBytes = 8 << 20
	maxRowBytes   = 32 << 20
	// minRowBytes is the least that this is lowered to for a server that finds
	// reports too large or does not come to an end with them in time.
	minRowBytes = 256 << 10
	// maxSentAge is how old the proof of a snapshot may be when it is sent. One that
	// was made before the process was stopped for a while must not pass for new:
	// to the server a report is as old as the agent says.
	maxSentAge = maxProofAge + defaultRequestTimeout
	// maxLateOpening is how much later than its agent gave it up the server may still
	// open a session, something in between having kept the request.
	maxLateOpening = 2 * time.Minute
)

// errAged is a snapshot that grew old before it could be sent.
var errAged = errors.New("the snapshot is too old to be sent")

// errNotWhole is a report that the server took and that yet left it without the whole
// state: to its users the time of the last report is that of the one before.
var errNotWhole = errors.New("the server does not have the whole state yet")

// loop is the state of one run of the reporter.
type loop struct {
	*reporter
	session *session
	proved  bool // the session has taken a report
	// lostOpening is when the opening of a session last had no answer, zero where no
	// session can come of it any more.
	lostOpening time.Time
	lastFull    time.Time
	pace        pace
	podTable    *podTable
	deployTable *deploymentTable
	components  componentIndex
	// podsRead and deploymentsRead are what the tables hold.
	podsRead        *reading[*corev1.Pod]
	deploymentsRead *reading[*styrminv1.StyrminDeployment]
	// rowBytes is how much of rows goes in one report.
	rowBytes int
	// isTooMuch and isBehind are of this cycle: its pods were maybe more than the
	// server takes; it wants rows again, those too that rowBytes had no room for.
	isTooMuch, isBehind bool
}

func newLoop(r *reporter) *loop {
	return &loop{
		reporter:    r,
		pace:        pace{interval: r.interval},
		podTable:    newPodTable(),
		deployTable: &deploymentTable{},
		rowBytes:    startRowBytes,
	}
}

// snapshot is what one cycle found, by kind.
type snapshot struct {
	pods, deployments half
}

// half is one kind of a snapshot.
type half struct {
	provenAt time.Time
	// err says why the kind is not reported this time.
	err error
}

// cycle makes one snapshot and sends it, pods first. Its error is one of
// sending; a kind that could not be read is logged and counted, and left out.
func (l *loop) cycle(ctx context.Context) error {
	l.isTooMuch, l.isBehind = false, false
	if l.session == nil {
		err := l.open(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.metrics.reports.WithLabelValues("session", resultOf(err)).Inc()
		l.failures.Outcome(l.log, "opening a report session", err)
		if err != nil {
			l.health.reported(kindPods, err)
			l.health.reported(kindDeployments, err)
			return err
		}
	}
	if l.clock.Since(l.lastFull) >= fullReportInterval {
		l.podTable.tellAgain()
		l.deployTable.forget()
		l.lastFull = l.clock.Now()
	}
	snapshot := l.snapshot(ctx)
	if l.hasAged(snapshot.pods) {
		// The deployments took long. The pods may have been proven again since.
		snapshot.pods = l.takePods(l.pods.read(ctx))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.session.next()
	err := l.send(ctx, kindPods, snapshot.pods, func() error { return l.sendPods(ctx, snapshot.pods.provenAt) })
	var refused *serverclient.Refusal
	if err != nil && ((!errors.As(err, &refused) && !l.isTooMuch) || isSessionLost(err)) {
		// No answer, or no session: the other half would fare no better.
		l.health.reported(kindDeployments, err)
		return err
	}
	if l.hasAged(snapshot.deployments) {
		// And so it is with the deployments where the pods took long.
		snapshot.deployments = l.takeDeployments(l.deployments.read(ctx))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, l.send(ctx, kindDeployments, snapshot.deployments, func() error {
		return l.sendDeployments(ctx, snapshot.deployments.provenAt)
	}))
}

// wait returns how long to wait after a cycle that ended with err. What the
// server asked for again follows soon. A session that the server does not know any more is
// replaced at once, unless it never knew it.
func (l *loop) wait(err error, took time.Duration) time.Duration {
	if !serverclient.IsRefused(err, codeSessionUnknown) {
		wait := l.pace.next(err, took)
		if err == nil && l.isBehind {
			wait /= 5
		}
		return wait
	}
	l.session = nil
	if l.proved {
		l.proved = false
		return 0
	}
	return l.pace.next(err, took)
}

// isSuperseded tells whether another agent has taken this one's place. Where an
// opening had no answer, the session that took it may be this agent's own, opened
// late: it opens one more then.
func (l *loop) isSuperseded(err error) bool {
	if l.session == nil || !serverclient.IsRefused(err, codeSessionSuperseded) {
		return false
	}
	// It is told with the next report only.
	if l.lostOpening.IsZero() || l.clock.Since(l.lostOpening) > maxLateOpening+l.pace.interval {
		return true
	}
	l.log.Info("The session was superseded, maybe by one of this agent's own: opening another", "session", l.session.id)
	l.lostOpening, l.session, l.proved = time.Time{}, nil, false
	return false
}

func isSessionLost(err error) bool {
	return serverclient.IsRefused(err, codeSessionUnknown) || serverclient.IsRefused(err, codeSessionSuperseded)
}

// open starts a session. Everything travels anew in it.
func (l *loop) open(ctx context.Context) error {
	uid, err := l.clusterUID(ctx)
	if err != nil {
		return fmt.Errorf("reading the cluster's UID: %w", err)
	}
	input := l.identity
	input.ClusterUid = uid
	l.session, err = openSession(ctx, l.client, l.clock, input)
	if err != nil {
		if !isUndone(err) && !isUnsent(err) {
			l.lostOpening = l.clock.Now()
		}
		return err
	}
	l.pace.interval = l.interval
	if l.session.interval > 0 {
		l.pace.interval = l.session.interval
	}
	l.health.expect(l.pace.interval)
	l.log.Info("Opened a report session", "session", l.session.id, "interval", l.pace.interval.String())
	l.podTable.forget()
	l.deployTable.forget()
	l.lastFull = l.clock.Now()
	return nil
}

// snapshot reads both kinds at the same time and brings the tables up to date.
func (l *loop) snapshot(ctx context.Context) snapshot {
	began := l.clock.Now()
	var (
		result   snapshot
		pods     *reading[*corev1.Pod]
		provenAt time.Time
		err      error
		group    sync.WaitGroup
	)
	group.Go(func() { pods, provenAt, err = l.pods.read(ctx) })
	group.Go(func() { result.deployments = l.takeDeployments(l.deployments.read(ctx)) })
	group.Wait()
	result.pods = l.takePods(pods, provenAt, err)
	l.metrics.snapshotTime.Observe(l.clock.Since(began).Seconds())
	return result
}

// takePods brings the table of pods up to date with what was read of them. Their
// components are those of the last deployments that could be read.
func (l *loop) takePods(pods *reading[*corev1.Pod], provenAt time.Time, err error) half {
	if err == nil && pods != l.podsRead {
		l.podsRead = nil
		if err = l.podTable.update(pods.objects, l.components); err == nil {
			l.podsRead = pods
		}
	}
	return half{provenAt, err}
}

// takeDeployments brings the table of deployments up to date with what was read of
// them.
func (l *loop) takeDeployments(deployments *reading[*styrminv1.StyrminDeployment], provenAt time.Time, err error) half {
	if err == nil && deployments != l.deploymentsRead {
		l.components = newComponentIndex(deployments.objects)
		l.podsRead, l.deploymentsRead = nil, nil // The pods' rows name their components.
		if err = l.deployTable.update(deployments.objects); err == nil {
			l.deploymentsRead = deployments
		}
	}
	return half{provenAt, err}
}

// hasAged tells whether a half was read, but is too old to be sent.
func (l *loop) hasAged(half half) bool {
	return half.err == nil && ageOf(l.clock, half.provenAt) > maxSentAge
}

// send sends one half, or makes known why it is left out, and keeps the books.
func (l *loop) send(ctx context.Context, k kind, half half, push func() error) error {
	activity := "reporting " + string(k)
	if l.hasAged(half) {
		half.err = errAged
	}
	if half.err != nil {
		l.metrics.unread.WithLabelValues(string(k)).Inc()
		l.health.reported(k, half.err)
		if errors.Is(half.err, errNotSynced) {
			l.log.V(1).Info("Waiting for the informer's first list", "kind", k)
			return nil
		}
		l.failures.Outcome(l.log, activity, half.err)
		return nil
	}
	l.metrics.proven.WithLabelValues(string(k)).Set(unixSeconds(half.provenAt))
	began := l.clock.Now()
	err := push()
	if ctx.Err() != nil {
		return ctx.Err() // no failure, but the end
	}
	l.metrics.duration.WithLabelValues(string(k)).Observe(l.clock.Since(began).Seconds())
	l.metrics.reports.WithLabelValues(string(k), resultOf(err)).Inc()
	l.health.reported(k, err)
	if errors.Is(err, errNotWhole) {
		l.proved, l.isBehind = true, true
		// What is much needs several reports; that it does not come to an end is a failure.
		if l.health.isLate(k) {
			l.failures.Outcome(l.log, activity, err)
		}
		return nil
	}
	l.failures.Outcome(l.log, activity, err)
	if err == nil {
		l.proved = true
		l.metrics.lastSuccess.WithLabelValues(string(k)).Set(unixSeconds(l.clock.Now()))
	}
	return err
}

func (l *loop) sendPods(ctx context.Context, provenAt time.Time) error {
	l.metrics.objects.WithLabelValues(string(kindPods)).Set(float64(l.podTable.size()))
	reports := l.podTable.report(l.rowBytes)
	result, err := l.session.reportPods(ctx, provenAt, reports)
	sent := sizeOf(reports)
	if l.isTooMuch = mayBeTooMuch(sent, err); l.isTooMuch {
		l.podTable.exceeded(reports, l.rowBytes)
	}
	l.adaptSize(sent, err)
	if err != nil {
		if !isUndone(err) {
			l.podTable.doubt(reports)
		}
		return err
	}
	l.podTable.acknowledge(reports, result.Resend, result.Rejected)
	l.logRejected(kindPods, result.Rejected)
	if lacking := len(result.Resend); lacking > 0 {
		return fmt.Errorf("%w: it lacks %d namespaces, the first is %s", errNotWhole, lacking, cleanText(result.Resend[0]))
	}
	return nil
}

// isUndone tells whether a report that failed has certainly changed nothing: the
// server says why it did not take it. After anything else it may have.
func isUndone(err error) bool {
	var refused *serverclient.Refusal
	return errors.As(err, &refused) && refused.Code != "" && refused.Code != codeInternal
}

// isUnsent tells whether a request failed for want of a connection.
func isUnsent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// mayBeTooMuch tells whether a report of that size was more than the server takes,
// by its own word or by the time that it took, unless it was so small that it cannot
// have been that.
func mayBeTooMuch(sent int, err error) bool {
	return serverclient.IsRefused(err, codeTooLarge) || (errors.Is(err, context.DeadlineExceeded) && sent > minRowBytes)
}

// adaptSize finds how much the server takes in one report: half of what was too
// much for it, and little by little more again while that goes well.
func (l *loop) adaptSize(sent int, err error) {
	switch {
	case mayBeTooMuch(sent, err):
		l.rowBytes = max(minRowBytes, min(sent, l.rowBytes)/2)
	case err == nil && sent > l.rowBytes/2:
		l.rowBytes = min(maxRowBytes, l.rowBytes+l.rowBytes/8)
	}
}

func (l *loop) sendDeployments(ctx context.Context, provenAt time.Time) error {
	l.metrics.objects.WithLabelValues(string(kindDeployments)).Set(float64(len(l.deployTable.rows)))
	result, err := l.session.reportDeployments(ctx, provenAt, l.deployTable.digest, l.deployTable.report())
	if err != nil {
		if !isUndone(err) {
			l.deployTable.forget() // Whether the server has them is not known.
		}
		return err
	}
	l.deployTable.acknowledge(result.Resend || len(result.Rejected) > 0)
	l.logRejected(kindDeployments, result.Rejected)
	if result.Resend {
		return errNotWhole
	}
	return nil
}

// logRejected makes known which rows the server could not store; the others
// were.
func (l *loop) logRejected(k kind, rows []RejectedRow) {
	l.metrics.rejected.WithLabelValues(string(k)).Add(float64(len(rows)))
	var err error
	if len(rows) > 0 {
		err = fmt.Errorf("%d rows, the first is %s/%s: %s", len(rows), rows[0].Namespace, rows[0].Name, cleanText(rows[0].Reason))
	}
	l.failures.Outcome(l.log, "storing all rows of "+string(k), err)
}

// resultOf names how a report went, for the metric.
func resultOf(err error) string {
	var refused *serverclient.Refusal
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, errNotWhole):
		return "behind"
	case errors.As(err, &refused):
		return "refused"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return "error"
	}
}

func unixSeconds(t time.Time) float64 {
	return float64(t.UnixMilli()) / 1000
}
