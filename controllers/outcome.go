// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// outcome is what one phase of a rollout found out: the phase's condition, and
// when to look again where no watch tells.
type outcome struct {
	// status: True is done, Unknown is on the way, False is that something is
	// wrong. The time of a change to False is since when it has been wrong.
	status  metav1.ConditionStatus
	reason  string
	message string
	// failed says that the phase is Failed: it does not get there without a
	// change or a retry that succeeds (O5). Only with status False.
	failed bool
	// recheckAfter is when to look again; 0: a watch tells.
	recheckAfter time.Duration
}

func (o outcome) done() bool { return o.status == metav1.ConditionTrue }

// after returns the outcome with a time to look again, the earlier of the two
// where it has one.
func (o outcome) after(d time.Duration) outcome {
	o.recheckAfter = soonest(o.recheckAfter, d)
	return o
}

func done(message string) outcome {
	return outcome{status: metav1.ConditionTrue, reason: styrminv1.ReasonSucceeded, message: message}
}

func progressing(format string, args ...any) outcome {
	return outcome{status: metav1.ConditionUnknown, reason: styrminv1.ReasonProgressing, message: fmt.Sprintf(format, args...)}
}

func failed(reason, message string) outcome {
	return outcome{status: metav1.ConditionFalse, reason: reason, message: message, failed: true}
}

// kept returns the outcome that a condition records, to go on with it.
func kept(c *metav1.Condition, failed bool) outcome {
	return outcome{status: c.Status, reason: c.Reason, message: c.Message, failed: failed}
}

// withDeadline turns an outcome that is still on the way into a failure once
// nothing has moved for longer than limit since the given time (O3).
func (o outcome) withDeadline(since, now time.Time, limit time.Duration) outcome {
	if o.status != metav1.ConditionUnknown || since.IsZero() {
		return o
	}
	if left := limit - atLeast(since, now); left > 0 {
		return o.after(left)
	}
	return o.timedOut(limit)
}

// timedOut is the failure of an outcome that has not moved for too long.
func (o outcome) timedOut(limit time.Duration) outcome {
	out := failed(styrminv1.ReasonTimedOut, fmt.Sprintf("no progress for longer than %s: %s", limit, o.message))
	return out.after(o.recheckAfter)
}

// atLeast is a lower bound of the time that has passed since a condition's
// transition, whose time has whole seconds only.
func atLeast(since, now time.Time) time.Duration {
	return now.Sub(since) - time.Second
}

// soonest returns the smaller of two waiting times, where 0 means never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
