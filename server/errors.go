// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
)

// Code classifies a refusal for programs: the contract's extensions.code.
type Code string

// The codes of the contract.
const (
	CodeUnauthenticated   Code = "UNAUTHENTICATED"
	CodeForbidden         Code = "FORBIDDEN"
	CodeNotFound          Code = "NOT_FOUND"
	CodeConflict          Code = "CONFLICT"
	CodeInvalidInput      Code = "INVALID_INPUT"
	CodeTooLarge          Code = "TOO_LARGE"
	CodeSessionUnknown    Code = "SESSION_UNKNOWN"
	CodeSessionSuperseded Code = "SESSION_SUPERSEDED"
	CodeClusterMismatch   Code = "CLUSTER_MISMATCH"
	CodeLeaseLost         Code = "LEASE_LOST"
	CodeInternal          Code = "INTERNAL"
)

// Error is a refusal that the caller may see. Every other error is internal: it
// is logged at the edge and shown to the caller as CodeInternal without its text.
type Error struct {
	Code Code
	// Field names the argument that is at fault, as "input.name". Empty: none.
	Field   string
	Message string
}

// Error returns the message, led by the field at fault.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Errorf makes a refusal with a code.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NotFound makes a refusal of an id that names nothing. The field is the id's own
// name, as deploymentId.
func NotFound(what, id string) error {
	return &Error{Code: CodeNotFound, Field: what + "Id", Message: fmt.Sprintf("there is no %s %s", what, id)}
}

// InvalidInput makes a refusal of an argument.
func InvalidInput(field, format string, args ...any) error {
	return &Error{Code: CodeInvalidInput, Field: field, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of a refusal, and CodeInternal for any other error.
func CodeOf(err error) Code {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return CodeInternal
}
