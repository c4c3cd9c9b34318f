// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// permanentError is one that trying again does not mend.
type permanentError struct{ text string }

func (e *permanentError) Error() string { return e.text }

func permanently(format string, args ...any) error {
	return &permanentError{text: fmt.Sprintf(format, args...)}
}

// unfinishedError says what has to come before what is tried can work.
type unfinishedError struct{ text string }

func (e *unfinishedError) Error() string { return e.text }

func unfinished(format string, args ...any) error {
	return &unfinishedError{text: fmt.Sprintf(format, args...)}
}

// isPermanent tells whether trying again does not help: the API server finds fault
// with what is asked for, not with the moment.
func isPermanent(err error) bool {
	var permanent *permanentError
	if errors.As(err, &permanent) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return true
	}
	return strings.HasPrefix(status.Status().Message, notOfSchema)
}

// notOfSchema is how the API server says that what is applied has fields or types
// that its schema does not have. It gives neither a reason nor a code of its own
// with it: by those, the same error is one of etcd's.
const notOfSchema = "failed to create typed patch object"

// isAnswer tells whether the failure is about what was asked for, and not that the
// API server could not be asked.
func isAnswer(err error) bool {
	var waiting *unfinishedError
	var status apierrors.APIStatus
	return errors.As(err, &waiting) || errors.As(err, &status)
}

// forbiddenPatience is how long a right may be missing: an API server that has just
// started grants none until it knows the roles.
const forbiddenPatience = 30 * time.Second

// persistently tries until it works, fails for good, or has not worked for longer
// than the patience although the API server answers. Each try ends with the lease
// (W3). When ctx ends before that, the error is why.
func (f *flow) persistently(ctx context.Context, what string, try func(context.Context) error) error {
	retry := newBackoff()
	var since time.Time
	for {
		held, release, err := f.lease.hold(ctx)
		if err != nil {
			return err
		}
		err = try(held)
		lapsed := held.Err() != nil
		release()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			f.failures.Outcome(f.log, what, nil)
			return nil
		case isPermanent(err) || isLost(err):
			return err
		case lapsed:
			continue
		}
		f.failures.Outcome(f.log, what, err)
		patience := f.opts.Patience
		if apierrors.IsForbidden(err) {
			patience = min(patience, forbiddenPatience)
		}
		switch {
		case !isAnswer(err):
			since = time.Time{}
		case since.IsZero():
			since = f.clock.Now()
		case f.clock.Since(since) >= patience:
			return fmt.Errorf("given up after %s: %w", patience, err)
		}
		if err := pauseFor(ctx, f.clock, retry.Step()); err != nil {
			return err
		}
	}
}
