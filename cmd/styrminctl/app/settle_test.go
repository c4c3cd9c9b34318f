// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/sdk"
)

// standIn answers operations in the server's place, without a network.
type standIn func(ctx context.Context, operation string) (status int, body string, err error)

func (s standIn) RoundTrip(r *http.Request) (*http.Response, error) {
	var call struct{ OperationName string }
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		return nil, err
	}
	status, body, err := s(r.Context(), call.OperationName)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// app is a run of the program that calls it.
func (s standIn) app(t *testing.T, out, said io.Writer, options ...sdk.Option) *app {
	t.Helper()
	client, err := sdk.New("https://styrmin.example", append(options, sdk.WithHTTPClient(&http.Client{Transport: s}))...)
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(string) (string, bool) { return "", false }
	return &app{
		Environment: Environment{In: strings.NewReader(""), Out: out, Err: said, LookupEnv: nothing},
		interval:    lookInterval, clock: time.Now, client: client,
	}
}

// trouble is what looks meet from one time after the beginning to another.
type trouble struct {
	from, to time.Duration
	failing  func(ctx context.Context) (status int, body string, err error)
	// noToken: the token source fails instead.
	noToken bool
}

func (m trouble) on(began time.Time) bool {
	since := time.Since(began)
	return since >= m.from && since < m.to
}

func away(context.Context) (int, string, error) { return 0, "", errors.New("connection refused") }

func hanging(ctx context.Context) (int, string, error) {
	<-ctx.Done()
	return 0, "", ctx.Err()
}

func failingInside(context.Context) (int, string, error) {
	return http.StatusOK, `{"data": null, "errors": [{"message": "no", "extensions": {"code": "INTERNAL"}}]}`, nil
}

// shopThatStays is a server where nothing changes a shop, which runs after a minute;
// no task is known that leads to that.
func shopThatStays(meet trouble) standIn {
	began := time.Now()
	return func(ctx context.Context, operation string) (int, string, error) {
		looks := operation == "getDeployment" || operation == "listTasks"
		if looks && meet.failing != nil && meet.on(began) {
			return meet.failing(ctx)
		}
		status := sdk.StatusDeploying
		if time.Since(began) >= time.Minute {
			status = sdk.StatusRunning
		}
		answer, ok := map[string]string{
			"listClusters":    `{"clusters": []}`,
			"listDeployments": `{"deployments": [{"id": "d-1", "name": "shop"}]}`,
			"scaleDeployment": `{"task": null}`,
			"listTasks":       `{"deployment": {"tasks": []}}`,
			"getDeployment":   fmt.Sprintf(`{"deployment": {"id": "d-1", "name": "shop", "status": %q}}`, status),
		}[operation]
		if !ok {
			return 0, "", fmt.Errorf("nobody asks for %s", operation)
		}
		return http.StatusOK, `{"data": ` + answer + `}`, nil
	}
}

// tokens is a source that has none while there is that trouble.
func tokens(meet trouble) sdk.Option {
	began := time.Now()
	return sdk.WithTokenSource(func() (string, error) {
		if meet.noToken && meet.on(began) {
			return "", errors.New("the file is empty")
		}
		return "styrmin_secret", nil
	})
}

func TestAWaitWhereNothingChangesOutlastsWhatPasses(t *testing.T) {
	for name, meet := range map[string]trouble{
		"a server that is away at the first look": {to: 30 * time.Second, failing: away},
		"a server that is away later":             {from: 10 * time.Second, to: 40 * time.Second, failing: away},
		"a server that fails":                     {from: 10 * time.Second, to: 40 * time.Second, failing: failingInside},
		"a token that is being replaced":          {from: 10 * time.Second, to: 20 * time.Second, noToken: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out, said bytes.Buffer
				a := shopThatStays(meet).app(t, &out, &said, tokens(meet))
				code := run(t.Context(), []string{"deployments", "scale", "shop", "server=3", "--wait"}, a)
				if want := "deployment/shop unchanged\ndeployment/shop is RUNNING\n"; code != ExitOK || out.String() != want {
					t.Errorf("it ended with %d and printed %q, want %q; it said %q", code, out.String(), want, said.String())
				}
				if n := strings.Count(said.String(), "deployment/shop: trying again: "); n != 1 {
					t.Errorf("it said %d times that it tries again: %s", n, said.String())
				}
			})
		})
	}
}

// TestAWaitWhereNothingChangesEndsInTimeWithWhatWasLastRead has a server that does
// not come back.
func TestAWaitWhereNothingChangesEndsInTimeWithWhatWasLastRead(t *testing.T) {
	for name, failing := range map[string]func(context.Context) (int, string, error){
		"a server that stays away": away,
		"a server that hangs":      hanging,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				a := shopThatStays(trouble{from: 10 * time.Second, to: time.Hour, failing: failing}).app(t, io.Discard, io.Discard)
				waited, err := a.settle(t.Context(), a.client, newChange("shop", "d-1", "scaling", nil), began.Add(30*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				want := &sdk.Waited{FailureReason: "wait timeout", TimedOut: true, Deployment: &sdk.Deployment{
					ID: "d-1", Name: "shop", Status: sdk.StatusDeploying,
				}}
				if diff := cmp.Diff(want, waited); diff != "" {
					t.Errorf("the outcome (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took < 30*time.Second || took > 30*time.Second+leastLook {
					t.Errorf("a wait of 30 seconds took %s", took)
				}
			})
		})
	}
}
