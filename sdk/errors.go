// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"errors"
	"fmt"
)

// Code is the contract's word for why the server refused a call.
type Code string

// The codes that people and scripts meet.
const (
	CodeUnauthenticated Code = "UNAUTHENTICATED"
	CodeForbidden       Code = "FORBIDDEN"
	CodeNotFound        Code = "NOT_FOUND"
	CodeConflict        Code = "CONFLICT"
	CodeInvalidInput    Code = "INVALID_INPUT"
	CodeTooLarge        Code = "TOO_LARGE"
	CodeInternal        Code = "INTERNAL"
)

// Error is the server's refusal of a call, which changed nothing.
type Error struct {
	Code Code
	// Field names the argument at fault, as input.name. Empty: none.
	Field string
	// Message is the server's, for people; it names the field, too.
	Message string
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Message, e.Code) }

// Is matches the Err… variables: refusals with the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && *other == Error{Code: e.Code}
}

// What errors.Is finds in the errors of calls.
var (
	// ErrUnauthenticated: no token was sent, or one that the server does not know.
	ErrUnauthenticated error = &Error{Code: CodeUnauthenticated}
	// ErrNoToken: the token source failed, though it has given a token before; the
	// call was not made.
	ErrNoToken = errors.New("the token source gave no token")
	// ErrForbidden: the token's role does not allow the call.
	ErrForbidden error = &Error{Code: CodeForbidden}
	// ErrNotFound: what the call names does not exist.
	ErrNotFound error = &Error{Code: CodeNotFound}
	// ErrConflict: what exists stands against the call.
	ErrConflict error = &Error{Code: CodeConflict}
	// ErrInvalidInput: the call is wrong and will never work as it is.
	ErrInvalidInput error = &Error{Code: CodeInvalidInput}
	// ErrTooLarge: the call is over a limit of the server.
	ErrTooLarge error = &Error{Code: CodeTooLarge}
	// ErrInternal: the server failed, its log says why; trying again may help.
	ErrInternal error = &Error{Code: CodeInternal}
	// ErrUnavailable: the server was not reached, or what answered is not a
	// Styrmin server; trying again may help. Whether a change was made is not
	// known.
	ErrUnavailable = errors.New("the server does not answer")
)

// unavailable is an ErrUnavailable with its cause.
type unavailable struct {
	address string
	cause   error
}

func (u *unavailable) Error() string {
	return fmt.Sprintf("the server at %s does not answer: %v", u.address, u.cause)
}

func (u *unavailable) Unwrap() []error { return []error{ErrUnavailable, u.cause} }

// isTransient tells whether the same call may work when it is made again.
func isTransient(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInternal)
}

// notFound is the error for a null of the server where one thing was asked for.
func notFound(kind, id string) error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no %s %s", kind, id)}
}
