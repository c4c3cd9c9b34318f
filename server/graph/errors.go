// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/go-logr/logr"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/styrmin/styrmin/server"
)

const (
	codeKey  = "code"
	fieldKey = "field"
)

// refusal makes an error of the contract where the library wants its own type.
func refusal(code server.Code, format string, args ...any) *gqlerror.Error {
	return &gqlerror.Error{
		Message:    fmt.Sprintf(format, args...),
		Extensions: map[string]any{codeKey: string(code)},
	}
}

// failure is an error of a resolver, as opposed to the library's own about an
// argument that cannot be read.
type failure struct{ cause error }

func (f *failure) Error() string { return f.cause.Error() }

func (f *failure) Unwrap() error { return f.cause }

// markFailures tells the errors of resolvers from the library's own.
func markFailures(ctx context.Context, next graphql.Resolver) (any, error) {
	value, err := next(ctx)
	if err != nil {
		err = &failure{err}
	}
	return value, err
}

// present translates an error for the caller: refusals and the library's own as
// they are, anything else as INTERNAL, whose text goes to the log.
func present(log logr.Logger) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		var refused *server.Error
		if errors.As(err, &refused) {
			return showRefusal(shown, refused, argumentOf(ctx, refused.Field))
		}
		var failed *failure
		if !errors.As(err, &failed) {
			return withContractCode(shown, graphql.GetOperationContext(ctx).RawQuery)
		}
		if ctx.Err() == nil {
			log.Error(failed.cause, "Failed to answer", "path", shown.Path.String())
		}
		shown.Message = "the server failed to answer, its log says why"
		shown.Extensions = map[string]any{codeKey: string(server.CodeInternal)}
		return shown
	}
}

// showRefusal shows a refusal as it is, with the argument at fault.
func showRefusal(shown *gqlerror.Error, refused *server.Error, field string) *gqlerror.Error {
	shown.Message = (&server.Error{Field: field, Message: refused.Message}).Error()
	shown.Extensions = map[string]any{codeKey: string(refused.Code)}
	if field != "" {
		shown.Extensions[fieldKey] = field
	}
	return shown
}

// withContractCode gives an error of the library about an operation a code of the
// contract, and names the argument at fault.
func withContractCode(err *gqlerror.Error, query string) *gqlerror.Error {
	code, _ := err.Extensions[codeKey].(string)
	if code == "" || code == errcode.ParseFailed || code == errcode.ValidationFailed {
		err.Message = withoutTypeWords(err.Message)
		err.Extensions = map[string]any{codeKey: string(server.CodeInvalidInput)}
		if field := faultOf(err, query); field != "" {
			err.Extensions[fieldKey] = field
		}
	}
	return err
}

// recoverPanic keeps one bad request from ending the server.
func recoverPanic(log logr.Logger) graphql.RecoverFunc {
	return func(_ context.Context, panicked any) error {
		err := fmt.Errorf("panic: %v", panicked)
		log.Error(err, "Recovered", "stack", string(debug.Stack()))
		return &failure{err}
	}
}

// statusOf is the HTTP status of a request that was refused as a whole.
func statusOf(code string) int {
	switch server.Code(code) {
	case server.CodeUnauthenticated:
		return http.StatusUnauthorized
	case server.CodeForbidden:
		return http.StatusForbidden
	case server.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case server.CodeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
