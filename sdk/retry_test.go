// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// meets plays what the tries of a call meet, the last for ever, and keeps the
// requests.
func meets(tries ...func() (int, string, error)) (layer answers, requests *[]request) {
	requests = &[]request{}
	return func(r request) (int, string, error) {
		*requests = append(*requests, r)
		return tries[min(len(*requests), len(tries))-1]()
	}, requests
}

func answering(body string) func() (int, string, error) {
	return func() (int, string, error) { return http.StatusOK, body, nil }
}

func TestReadsAreTriedAgainWhileTheServerIsAway(t *testing.T) {
	layer, requests := meets(networkDown, badGateway, html, refusing("INTERNAL"), answering(`{"data": {"task": {"id": "t-1"}}}`))
	client, clock := fakeClient(t, layer)
	task, err := client.Tasks.Get(t.Context(), "t-1")
	if err != nil || task.ID != "t-1" {
		t.Fatalf("got %+v, %v", task, err)
	}
	if len(*requests) != 5 || len(clock.slept) != 4 {
		t.Fatalf("it made %d tries and slept %v", len(*requests), clock.slept)
	}
	for i, slept := range clock.slept {
		least := firstBackoff << i / 2
		if slept < least || slept > 3*least {
			t.Errorf("before try %d it slept %s, want from %s to %s", i+2, slept, least, 3*least)
		}
	}
}

func TestAServerThatStaysAwayIsUnavailable(t *testing.T) {
	for name, test := range map[string]struct {
		meet func() (int, string, error)
		want string
	}{
		"no connection":    {networkDown, "the server at https://styrmin.example does not answer: connection reset by peer"},
		"a proxy's error":  {badGateway, "what answered said HTTP 502"},
		"a page":           {html, `what answered is no GraphQL (Content-Type "text/test")`},
		"half an answer":   {truncated, "what answered is no GraphQL"},
		"an unknown error": {withoutCode, "what answered gave an error without a code"},
		"an empty object":  {answering(`{}`), "what answered is no GraphQL"},
		"another object":   {answering(`{"status": "maintenance"}`), "what answered is no GraphQL"},
		"a null error":     {answering(`{"data": {"deployments": []}, "errors": [null]}`), "what answered is no GraphQL"},
		"null":             {answering(`null`), "what answered is no GraphQL"},
		"null data":        {answering(`{"data": null}`), "what answered is no GraphQL"},
	} {
		t.Run(name, func(t *testing.T) {
			layer, requests := meets(test.meet)
			client, _ := fakeClient(t, layer)
			_, err := client.Deployments.List(t.Context(), DeploymentFilter{})
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), test.want) || len(*requests) != tries {
				t.Errorf("after %d tries: %v, want %q", len(*requests), err, test.want)
			}
		})
	}
}

func TestRefusalsAreTypedAndNotTriedAgain(t *testing.T) {
	for code, want := range map[Code]error{
		CodeUnauthenticated: ErrUnauthenticated, CodeForbidden: ErrForbidden, CodeNotFound: ErrNotFound,
		CodeConflict: ErrConflict, CodeInvalidInput: ErrInvalidInput, CodeTooLarge: ErrTooLarge,
	} {
		layer, requests := meets(func() (int, string, error) {
			return http.StatusBadRequest, fmt.Sprintf(
				`{"data": null, "errors": [{"message": "input.name: is taken", "extensions": {"code": %q, "field": "input.name"}}]}`, code), nil
		})
		client, _ := fakeClient(t, layer)
		_, err := client.Deployments.Create(t.Context(), NewDeployment{Name: "shop", Spec: map[string]any{}})
		var refused *Error
		if !errors.Is(err, want) || !errors.As(err, &refused) {
			t.Fatalf("%s: got %v", code, err)
		}
		if diff := cmp.Diff(&Error{Code: code, Field: "input.name", Message: "input.name: is taken"}, refused); diff != "" {
			t.Errorf("the refusal (-want +got):\n%s", diff)
		}
		if want := fmt.Sprintf("creating deployment shop: input.name: is taken (%s)", code); err.Error() != want {
			t.Errorf("it reads %q, want %q", err, want)
		}
		if len(*requests) != 1 || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: tried %d times", code, len(*requests))
		}
	}
}

func TestAChangeHasOneKeyForAllItsTries(t *testing.T) {
	layer, requests := meets(networkDown, badGateway, answering(`{"data": {"task": {"id": "t-1"}}}`))
	client, _ := fakeClient(t, layer)
	for range 2 {
		if _, err := client.Deployments.RunJob(t.Context(), "d-1", "migrate"); err != nil {
			t.Fatal(err)
		}
	}
	keys := map[any]int{}
	for _, request := range *requests {
		keys[request.Variables["idempotencyKey"]]++
	}
	if len(*requests) != 4 || len(keys) != 2 || keys[""] > 0 {
		t.Errorf("the keys of %d tries of two calls: %v", len(*requests), keys)
	}
}

// TestOnlyTheServerSaysThatNothingChanges: no task means that, so that neither what
// answers in the server's place nor a change that always has a task may give none.
func TestOnlyTheServerSaysThatNothingChanges(t *testing.T) {
	for name, test := range map[string]struct {
		ask func(context.Context, *DeploymentsService) (*Task, error)
		// mayBeNone: the server, too, may answer without a task.
		mayBeNone bool
	}{
		"an update": {func(ctx context.Context, s *DeploymentsService) (*Task, error) {
			return s.Update(ctx, "d-1", map[string]any{})
		}, true},
		"a scaling": {func(ctx context.Context, s *DeploymentsService) (*Task, error) {
			return s.Scale(ctx, "d-1", map[string]int{"server": 3})
		}, true},
		"an upgrade": {func(ctx context.Context, s *DeploymentsService) (*Task, error) {
			return s.UpdateVersion(ctx, "d-1", "2")
		}, true},
		"a creation": {func(ctx context.Context, s *DeploymentsService) (*Task, error) {
			return s.Create(ctx, NewDeployment{Name: "shop"})
		}, false},
		"a deletion": {func(ctx context.Context, s *DeploymentsService) (*Task, error) { return s.Delete(ctx, "d-1") }, false},
		"a start": {func(ctx context.Context, s *DeploymentsService) (*Task, error) {
			return s.StartComponents(ctx, "d-1", []string{"server"})
		}, false},
		"a stop": {func(ctx context.Context, s *DeploymentsService) (*Task, error) {
			return s.StopComponents(ctx, "d-1", []string{"server"})
		}, false},
		"a job": {func(ctx context.Context, s *DeploymentsService) (*Task, error) {
			return s.RunJob(ctx, "d-1", "migrate")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for body, wantNone := range map[string]bool{
				`{}`: false, `null`: false, `{"data": null}`: false, `{"status": "maintenance"}`: false,
				`{"data": {"task": null}}`: test.mayBeNone,
			} {
				layer, requests := meets(answering(body))
				client, _ := fakeClient(t, layer)
				task, err := test.ask(t.Context(), client.Deployments)
				switch {
				case wantNone && (task != nil || err != nil):
					t.Errorf("%s: got %v, %v, want nil", body, task, err)
				case !wantNone && (!errors.Is(err, ErrUnavailable) || len(*requests) != tries):
					t.Errorf("%s: after %d tries: %v, %v, want %v", body, len(*requests), task, err, ErrUnavailable)
				}
			}
		})
	}
}

func TestWhatHasNoKeyIsMadeOnce(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Client) error{
		"a cluster":        func(ctx context.Context, c *Client) error { _, err := c.Clusters.Create(ctx, "c"); return err },
		"an agent's token": func(ctx context.Context, c *Client) error { _, err := c.Clusters.RotateToken(ctx, "c"); return err },
		"a token": func(ctx context.Context, c *Client) error {
			_, err := c.Tokens.Create(ctx, "t", RoleViewer)
			return err
		},
		"a token's last day": func(ctx context.Context, c *Client) error { return c.Tokens.Revoke(ctx, "t") },
	} {
		t.Run(name, func(t *testing.T) {
			layer, requests := meets(networkDown)
			client, _ := fakeClient(t, layer)
			if err := call(t.Context(), client); !errors.Is(err, ErrUnavailable) || len(*requests) != 1 {
				t.Errorf("after %d tries: %v", len(*requests), err)
			}
		})
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	layer, requests := meets(func() (int, string, error) {
		cancel()
		return networkDown()
	})
	client, _ := fakeClient(t, layer)
	if _, err := client.Clusters.List(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) || len(*requests) != 1 {
		t.Errorf("after %d tries: %v", len(*requests), err)
	}
}

// TestARepeatAfterALostAnswerGivesTheFirstTask loses the answer of a real server,
// and compares what the repeat returns with what the server has.
func TestARepeatAfterALostAnswerGivesTheFirstTask(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	lost := 0
	client, err := New(w.server.URL, WithToken(w.server.AdminToken), WithHTTPClient(&http.Client{Transport: roundTripper(
		func(r *http.Request) (*http.Response, error) {
			response, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && lost == 0 {
				lost++
				_ = response.Body.Close()
				return nil, errConnectionReset
			}
			return response, err
		})}))
	if err != nil {
		t.Fatal(err)
	}
	task := w.must(client.Deployments.RunJob(t.Context(), id, "migrate"))
	tasks, err := client.Tasks.List(t.Context(), id, 10)
	if err != nil {
		t.Fatal(err)
	}
	if lost != 1 || len(tasks) != 2 || tasks[0].ID != task.ID {
		t.Errorf("%d answers were lost; the call returned task %s, the server has %d tasks, the newest %s", lost, task.ID, len(tasks), tasks[0].ID)
	}
	// A script that is started anew names its change itself.
	first := w.must(client.Deployments.RunJob(t.Context(), id, "migrate", IdempotencyKey("nightly")))
	again := w.must(client.Deployments.RunJob(t.Context(), id, "migrate", IdempotencyKey("nightly")))
	if first.ID != again.ID || first.ID == task.ID {
		t.Errorf("under one key there are tasks %s and %s", first.ID, again.ID)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPodsComePageByPage(t *testing.T) {
	var after []any
	layer := answers(func(r request) (int, string, error) {
		after = append(after, r.Variables["after"])
		count, from := podPage, (len(after)-1)*podPage
		if len(after) == 3 {
			count = 1
		}
		rows := make([]any, 0, count)
		for i := range count {
			rows = append(rows, map[string]any{"name": fmt.Sprint("pod-", from+i), "cursor": fmt.Sprint("at-", from+i)})
		}
		return http.StatusOK, data(t, map[string]any{"podStatuses": rows}), nil
	})
	client, _ := fakeClient(t, layer)
	pods, err := client.Deployments.Pods(t.Context(), "d-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(pods) != 2*podPage+1 || pods[2*podPage].Name != "pod-1000" {
		t.Errorf("there are %d pods", len(pods))
	}
	if diff := cmp.Diff([]any{nil, "at-499", "at-999"}, after); diff != "" {
		t.Errorf("the pages began after (-want +got):\n%s", diff)
	}
}

func TestTheBackoffOfACallIsAboutThreeSeconds(t *testing.T) {
	layer, _ := meets(networkDown)
	client, clock := fakeClient(t, layer)
	began := clock.time
	if _, err := client.Server(t.Context()); err == nil {
		t.Fatal("it was answered")
	}
	if took := clock.time.Sub(began); took < 1500*time.Millisecond || took > 4500*time.Millisecond {
		t.Errorf("it slept %s in all", took)
	}
}
