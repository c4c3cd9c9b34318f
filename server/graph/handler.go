// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/NYTimes/gziphandler"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// Bounds of a request's body in bytes. An agent's first report of a large
// cluster is long; what people and scripts send is not.
const (
	maxReportBody     = 96 << 20
	maxReportBodyGzip = 24 << 20
	maxBody           = 2 << 20
)

// largeBody is what comes with the first report of a large cluster, and not
// again for minutes: what it took is given back once the answer is written and
// nothing holds it any more.
const (
	largeBody     = 8 << 20
	giveBackAfter = time.Second
)

// Options are the server's policies.
type Options struct {
	// AllowAnonymousReports lets callers without a token report.
	AllowAnonymousReports bool
}

// handler speaks GraphQL over HTTP: POST with a JSON body, nothing else.
type handler struct {
	resolver *Resolver
	options  Options
	executor *executor.Executor
	bodies   *bodies
}

// NewHandler answers the contract over HTTP.
func NewHandler(resolver *Resolver, options Options) http.Handler {
	return gziphandler.GzipHandler(newHandler(resolver, options, newBodies(maxBodyWait)))
}

func newHandler(resolver *Resolver, options Options, bodies *bodies) *handler {
	schema := NewExecutableSchema(Config{Resolvers: resolver, Complexity: costs()})
	exec := executor.New(schema)
	exec.SetErrorPresenter(present(resolver.Log))
	exec.SetRecoverFunc(recoverPanic(resolver.Log))
	exec.SetParserTokenLimit(maxTokens)
	exec.AroundFields(markFailures)
	exec.Use(&limits{schema: schema})
	exec.Use(&exactWords{})
	exec.Use(roleCheck{})
	return &handler{resolver: resolver, options: options, executor: exec, bodies: bodies}
}

// ServeHTTP answers one operation. The caller is known before the body is read.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		h.refuse(w, http.StatusMethodNotAllowed, refusal(server.CodeInvalidInput, "GraphQL is answered to POST"))
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		h.refuse(w, http.StatusUnsupportedMediaType,
			refusal(server.CodeInvalidInput, "the body is JSON, with Content-Type: application/json"))
		return
	}
	ctx := withReceipt(graphql.StartOperationTrace(r.Context()), h.resolver.Now())
	caller, err := h.identify(r)
	if err != nil {
		h.refuseError(w, r, err)
		return
	}
	ctx = withLoaders(withCaller(ctx, caller), h.resolver.Store)
	room := &share{bodies: h.bodies}
	defer room.settle(0)
	params, size, err := readParams(ctx, w, r, caller, room)
	if errors.Is(err, errBodiesFull) {
		h.refuseForNow(w)
		return
	}
	if err != nil {
		h.refuseError(w, r, err)
		return
	}
	if size > largeBody {
		defer time.AfterFunc(giveBackAfter, debug.FreeOSMemory)
	}
	op, refused := h.executor.CreateOperationContext(ctx, params)
	if refused != nil {
		for i, err := range refused {
			refused[i] = withContractCode(err, params.Query)
		}
		h.refuse(w, statusOf(fmt.Sprint(refused[0].Extensions[codeKey])), refused...)
		return
	}
	respond, ctx := h.executor.DispatchOperation(ctx, op)
	h.write(w, http.StatusOK, respond(ctx))
}

// identify finds out who calls.
func (h *handler) identify(r *http.Request) (server.Identity, error) {
	if r.Header.Get("Authorization") == "" && h.options.AllowAnonymousReports {
		return server.Identity{Role: server.RoleAnonymous}, nil
	}
	return Identify(r, h.resolver.Store)
}

// Identify finds out who calls, by the bearer token. Without one that is known
// the error is UNAUTHENTICATED.
func Identify(r *http.Request, db *store.Store) (server.Identity, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return server.Identity{}, server.Errorf(server.CodeUnauthenticated,
			"a token is needed: Authorization: Bearer TOKEN")
	}
	scheme, secret, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return server.Identity{}, server.Errorf(server.CodeUnauthenticated,
			"the token comes as Authorization: Bearer TOKEN")
	}
	return db.Identify(r.Context(), strings.TrimSpace(secret))
}

// readParams reads the body within the bounds of the caller's role and the room
// that there is, and tells its unpacked size.
func readParams(
	ctx context.Context, w http.ResponseWriter, r *http.Request, caller server.Identity, room *share,
) (*graphql.RawParams, int64, error) {
	limit := int64(maxBody)
	if slices.Contains(reporters, caller.Role) {
		limit = maxReportBody
	}
	body, err := unpack(w, r, limit)
	if err != nil {
		return nil, 0, err
	}
	params := new(graphql.RawParams)
	decoder := json.NewDecoder(&counted{Reader: body, large: func() error { return room.take(ctx, limit) }})
	decoder.UseNumber()
	if err := decoder.Decode(params); err != nil {
		return nil, 0, bodyError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("there is more than one JSON value")
		}
		return nil, 0, bodyError(err)
	}
	params.Headers = r.Header
	room.settle(decoder.InputOffset())
	return params, decoder.InputOffset(), nil
}

// unpack bounds the body, before and after it is unpacked.
func unpack(w http.ResponseWriter, r *http.Request, limit int64) (io.Reader, error) {
	switch encoding := r.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return http.MaxBytesReader(w, r.Body, limit), nil
	case "gzip":
		reader, err := gzip.NewReader(http.MaxBytesReader(w, r.Body, min(limit, maxReportBodyGzip)))
		if err != nil {
			return nil, bodyError(err)
		}
		return &bounded{reader: reader, left: limit}, nil
	default:
		return nil, server.InvalidInput("Content-Encoding", "%.20q is not known, gzip is", encoding)
	}
}

// errBodyTooLarge says that a body is longer than allowed once it is unpacked.
var errBodyTooLarge = errors.New("the unpacked body is too large")

// bounded reads at most left bytes and fails where there are more.
type bounded struct {
	reader io.Reader
	left   int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.reader.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errBodyTooLarge
	}
	return n, err
}

// bodyError says what is wrong with a body, without repeating it.
func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errBodiesFull):
		return err
	case errors.As(err, &tooLarge), errors.Is(err, errBodyTooLarge):
		return server.Errorf(server.CodeTooLarge, "the body is larger than allowed")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return server.Errorf(server.CodeInvalidInput, "the body ends early")
	}
	return server.Errorf(server.CodeInvalidInput, "the body cannot be read as JSON: %.200s", err.Error())
}

// refuseError answers a request that came to no operation.
func (h *handler) refuseError(w http.ResponseWriter, r *http.Request, err error) {
	shown := present(h.resolver.Log)(r.Context(), &failure{err})
	if shown.Extensions[codeKey] == string(server.CodeUnauthenticated) {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	h.refuse(w, statusOf(fmt.Sprint(shown.Extensions[codeKey])), shown)
}

// refuseForNow answers a request that is good, but for which there is no room.
func (h *handler) refuseForNow(w http.ResponseWriter) {
	h.resolver.Log.Info("Refused a large request: others leave no room for it", "bytes", maxBodies)
	w.Header().Set("Retry-After", strconv.Itoa(int(maxBodyWait/time.Second)))
	h.refuse(w, http.StatusServiceUnavailable,
		refusal(server.CodeInternal, "the server is busy with other large requests: send this one again later"))
}

func (h *handler) refuse(w http.ResponseWriter, status int, errs ...*gqlerror.Error) {
	h.write(w, status, &graphql.Response{Errors: errs})
}

func (h *handler) write(w http.ResponseWriter, status int, response *graphql.Response) {
	text, err := json.Marshal(response)
	if err != nil {
		h.resolver.Log.Error(err, "Failed to write an answer")
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(text); err != nil {
		h.resolver.Log.V(1).Info("Lost the caller", "error", err.Error())
	}
}
