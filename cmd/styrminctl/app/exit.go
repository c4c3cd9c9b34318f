// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/styrmin/styrmin/sdk"
)

// The exit codes, so that scripts can tell apart what happened.
const (
	// ExitOK: done, and with --wait: it runs, or is deleted.
	ExitOK = 0
	// ExitError: the server refused the call, or something else went wrong.
	ExitError = 1
	// ExitUsage: the command line, the configuration or a file is wrong; the
	// server was not asked to change anything.
	ExitUsage = 2
	// ExitFailed: the change that was waited for has failed.
	ExitFailed = 3
	// ExitSuperseded: a later change has taken its place.
	ExitSuperseded = 4
	// ExitTimeout: --timeout was over first; the change can still finish.
	ExitTimeout = 5
	// ExitUnavailable: the server does not answer.
	ExitUnavailable = 6
	// ExitNotFound: what the command names does not exist.
	ExitNotFound = 7
	// ExitInterrupted: Ctrl-C; a change that was begun goes on.
	ExitInterrupted = 130
)

// usageError is a mistake that was found before the server was asked.
type usageError struct{ cause error }

func (e *usageError) Error() string { return e.cause.Error() }
func (e *usageError) Unwrap() error { return e.cause }

// outcomeError is a change that did not come to the wanted end.
type outcomeError struct {
	deployment string
	waited     *sdk.Waited
}

func (e *outcomeError) Error() string {
	return fmt.Sprintf("deployment/%s: %s", e.deployment, e.waited.FailureReason)
}

// interruptedError is a wait that the user ended.
type interruptedError struct{ taskID string }

func (e *interruptedError) Error() string { return "interrupted: the change goes on" }

// end tells an error once, with what to do about it, and returns the exit code.
func (a *app) end(err error) int {
	if err == nil && a.lost != nil {
		err = fmt.Errorf("writing the output: %w", a.lost)
	}
	if err == nil {
		return ExitOK
	}
	var interrupted *interruptedError
	if errors.Is(err, context.Canceled) && !errors.As(err, &interrupted) {
		if failed := withoutCancellation(err); failed != nil {
			a.tellError(failed)
		}
		a.say("Interrupted")
		return ExitInterrupted
	}
	a.tellError(err)
	return exitCode(err)
}

func (a *app) tellError(err error) {
	a.say("Error: %s", printable(err.Error()))
	if hint := hintFor(err); hint != "" {
		a.say("%s", hint)
	}
}

// withoutCancellation is what else failed before something was interrupted: of
// joined errors those that are no cancellation, or nil.
func withoutCancellation(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	failures := joined.Unwrap()
	failed := make([]error, 0, len(failures))
	for _, failure := range failures {
		if !errors.Is(failure, context.Canceled) {
			failed = append(failed, failure)
		}
	}
	return errors.Join(failed...)
}

func exitCode(err error) int {
	var usage *usageError
	var outcome *outcomeError
	var interrupted *interruptedError
	switch {
	case errors.As(err, &interrupted):
		return ExitInterrupted
	case errors.As(err, &outcome):
		return outcomeCode(outcome.waited)
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, sdk.ErrUnavailable):
		return ExitUnavailable
	case errors.Is(err, sdk.ErrNotFound):
		return ExitNotFound
	}
	return ExitError
}

func outcomeCode(waited *sdk.Waited) int {
	switch {
	case waited.TimedOut:
		return ExitTimeout
	case waited.Task != nil && waited.Task.Result == sdk.ResultSuperseded:
		return ExitSuperseded
	}
	return ExitFailed
}

// hintFor says what to do about an error.
func hintFor(err error) string {
	var outcome *outcomeError
	var interrupted *interruptedError
	var unknownAuthority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &interrupted):
		return waitAgain(interrupted.taskID)
	case errors.As(err, &outcome) && outcome.waited.TimedOut && outcome.waited.Task != nil:
		return "The change can still finish. " + waitAgain(outcome.waited.Task.ID)
	case errors.Is(err, sdk.ErrUnauthenticated):
		return "Set a valid token with STYRMIN_TOKEN, --token-file, or token in the configuration file."
	case errors.Is(err, sdk.ErrForbidden):
		return "Use the token of an admin."
	case errors.As(err, &unknownAuthority):
		return "Name the file with the certificates to trust with --ca-file."
	case errors.Is(err, sdk.ErrUnavailable):
		return "Check that the server runs and that --server-address is its address."
	}
	return ""
}

func waitAgain(taskID string) string {
	return "Wait for it again with: styrminctl tasks wait " + taskID
}
