// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// invalidSpecError says that the spec asks for what this cluster cannot give,
// and what to do about it.
type invalidSpecError struct{ message string }

func (e *invalidSpecError) Error() string { return e.message }

func invalidSpec(format string, args ...any) error {
	return &invalidSpecError{message: fmt.Sprintf(format, args...)}
}

// waitError says what has to end before a phase can go on.
type waitError struct{ message string }

func (e *waitError) Error() string { return e.message }

// waitUntilGone is for an object of ours that someone deletes: it cannot be
// changed any more, and is made anew under its name once it is gone.
func waitUntilGone(kind string, obj client.Object) error {
	return &waitError{message: fmt.Sprintf("waiting until %s %s is gone, which is being deleted", kind, client.ObjectKeyFromObject(obj))}
}

// missingAPIError says that an API which this spec needs is not served (O9).
type missingAPIError struct {
	kind schema.GroupVersionKind
	// product is what brings the API.
	product string
}

func (e *missingAPIError) Error() string {
	return fmt.Sprintf("the cluster does not serve %s of %s: install %s", e.kind.Kind, e.kind.GroupVersion(), e.product)
}

// outcomeOf translates what went wrong in a phase. It returns false for errors
// that say nothing about the spec, such as an API server that is away: those
// are tried again with backoff.
func (o Options) outcomeOf(err error) (outcome, bool) {
	var (
		conflict *conflictError
		invalid  *invalidSpecError
		missing  *missingAPIError
		waiting  *waitError
	)
	switch {
	case errors.As(err, &conflict):
		return failed(styrminv1.ReasonConflict, conflict.Error()).after(o.RecheckInterval), true
	case errors.As(err, &missing):
		return failed(styrminv1.ReasonMissingAPI, missing.Error()).after(o.RecheckInterval), true
	case isUnservedKind(err):
		return failed(styrminv1.ReasonMissingAPI, "the cluster does not serve an API any more: "+err.Error()).after(o.RecheckInterval), true
	case errors.As(err, &waiting):
		return progressing("%s", waiting).after(o.RecheckInterval), true
	case errors.As(err, &invalid):
		return failed(styrminv1.ReasonInvalidSpec, invalid.Error()).after(o.RecheckInterval), true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return progressing("%s", err).after(o.RecheckInterval), true
	case apierrors.IsForbidden(err):
		return failed(styrminv1.ReasonForbidden, err.Error()).after(o.RecheckInterval), true
	case isUndeclaredField(err):
		message := "the cluster's version of an API does not know a field, or not with this value: " + err.Error()
		return failed(styrminv1.ReasonInvalidSpec, message).after(o.RecheckInterval), true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return failed(styrminv1.ReasonInvalidSpec, err.Error()).after(o.RecheckInterval), true
	default:
		return outcome{}, false
	}
}

// isUnservedKind tells a 404 for the kind itself from one for an object or its
// namespace: the API was there once and is gone.
func isUnservedKind(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// isUndeclaredField tells whether an apply has a field that the kind's schema has
// not, or of another type. The API server calls that an internal error and has no
// other sign of it than these words (fieldmanager's structuredmerge.go).
func isUndeclaredField(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed to create typed patch object")
}

// errorSpells remember since when work on a deployment has ended in errors: one
// that comes late does not count as all the time before it.
type errorSpells struct{ began sync.Map }

// since returns when the errors began that the newest one goes on with.
func (e *errorSpells) since(s *scope) time.Time {
	began, _ := e.began.LoadOrStore(client.ObjectKeyFromObject(s.deployment), s.now)
	return began.(time.Time)
}

func (e *errorSpells) forget(key client.ObjectKey) { e.began.Delete(key) }
