// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/styrmin/styrmin/internal/serverclient"
)

const testToken = "agent-token-1"

// answer is what a server, or something in its place, answers to a report.
type answer func(w http.ResponseWriter, r *http.Request, request *modelRequest)

func body(status int, contentType, text string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ *modelRequest) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// badAnswers are all ways in which a push can fail that look like an answer.
var badAnswers = map[string]answer{
	"errors in a 200 (case B05)":       body(200, "application/json", `{"data":{"reportPodStatuses":null},"errors":[{"message":"db down"}]}`),
	"null data":                        body(200, "application/json", `{"data":null}`),
	"a null payload without errors":    body(200, "application/json", `{"data":{"reportPodStatuses":null}}`),
	"an empty object":                  body(200, "application/json", `{}`),
	"an empty body":                    body(200, "application/json", ``),
	"a list of null errors":            body(200, "application/json", `{"data":{"reportPodStatuses":{"sequence":1,"applied":true}},"errors":[null]}`),
	"HTML in a 200 (case B05)":         body(200, "text/html", `<html>Sign in</html>`),
	"HTML in a 502":                    body(502, "text/html", `<html>Bad gateway</html>`),
	"HTML in a 413 (case B07)":         body(413, "text/html", `<html>Request entity too large</html>`),
	"a GraphQL error in a 401":         body(401, "application/json", `{"errors":[{"message":"who are you?","extensions":{"code":"UNAUTHENTICATED"}}]}`),
	"data in a 500":                    body(500, "application/json", `{"data":{"reportPodStatuses":{"sequence":1,"applied":true,"rejected":[],"resend":[]}}}`),
	"a wrong echo of the sequence":     body(200, "application/json", `{"data":{"reportPodStatuses":{"sequence":77,"applied":true,"rejected":[],"resend":[]}}}`),
	"a report that was not applied":    body(200, "application/json", `{"data":{"reportPodStatuses":{"sequence":1,"applied":false,"rejected":[],"resend":[]}}}`),
	"another answer behind the answer": body(200, "application/json", `{"data":{"reportPodStatuses":{"sequence":1,"applied":true,"rejected":[],"resend":[]}}}{}`),
	"half an answer": func(w http.ResponseWriter, _ *http.Request, _ *modelRequest) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"data":{"reportPodStatuses":{"sequence":1,`)
	},
	"an answer that does not end": func(w http.ResponseWriter, _ *http.Request, _ *modelRequest) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":"`)
		chunk := bytes.Repeat([]byte("a"), 1<<20)
		for range 64 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	},
	"an answer behind which spaces do not end": func(w http.ResponseWriter, _ *http.Request, _ *modelRequest) {
		_, _ = io.WriteString(w, `{"data":{"reportPodStatuses":{"sequence":1,"applied":true,"rejected":[],"resend":[]}}}`)
		_, _ = w.Write(bytes.Repeat([]byte(" "), serverclient.MaxResponse))
	},
	"a redirect": func(w http.ResponseWriter, r *http.Request, _ *modelRequest) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	},
	"a connection that is closed": func(w http.ResponseWriter, _ *http.Request, _ *modelRequest) {
		panic(http.ErrAbortHandler)
	},
}

func TestP5WhatIsNotTheEchoOfTheReportIsAFailedPush(t *testing.T) {
	for name, bad := range badAnswers {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.pods.objects = []*corev1.Pod{testPod("prod-shop", "shop-0")}
			l := newLoop(h.reporter)
			h.server.intercept = func(w http.ResponseWriter, r *http.Request, request *modelRequest) bool {
				if request.OperationName != "ReportPodStatuses" {
					return false
				}
				bad(w, r, request)
				return true
			}
			if err := l.cycle(t.Context()); err == nil {
				t.Fatal("The cycle succeeded")
			}
			if got := h.server.podNames(); len(got) != 0 {
				t.Fatalf("The server has %v, the test is wrong", got)
			}

			// What comes next is the newest snapshot, whole: the one that failed was
			// not taken for sent, and is not sent later.
			h.server.change(func() { h.server.intercept = nil })
			h.pods.objects = []*corev1.Pod{testPod("prod-shop", "shop-1"), testPod("prod-shop", "shop-2")}
			mustCycle(t, l)
			if diff := cmp.Diff([]string{"prod-shop/shop-1", "prod-shop/shop-2"}, h.server.podNames()); diff != "" {
				t.Errorf("stored pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestP5WhatIsNotAnOpenedSessionIsAFailure(t *testing.T) {
	for name, bad := range badAnswers {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			l := newLoop(h.reporter)
			h.server.intercept = func(w http.ResponseWriter, r *http.Request, request *modelRequest) bool {
				bad(w, r, request)
				return true
			}
			if err := l.cycle(t.Context()); err == nil {
				t.Fatal("The cycle succeeded")
			}
			if diff := cmp.Diff([]string{"OpenReportSession"}, operations(h.server.received())); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestP5ARequestEndsAtItsDeadline(t *testing.T) {
	// Case B04: the server takes the connection and never answers.
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	client, err := serverclient.New(server.URL, "", "", 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenReportSession(t.Context(), client, OpenReportSessionInput{})
	if got, want := resultOf(err), "timeout"; got != want {
		t.Errorf("result of %v is %q, want %q", err, got, want)
	}
}

func TestP5ARequestDiesWithTheManager(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-release
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	client, err := serverclient.New(server.URL, "", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = OpenReportSession(ctx, client, OpenReportSessionInput{}); err == nil {
		t.Error("The request succeeded")
	}
}

func TestTheTokenIsReadForEachRequestAndNeverTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := newModelServer(t)
	write(testToken + "\n")
	client, err := serverclient.New(server.URL, file, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	open := func() error {
		_, err := OpenReportSession(t.Context(), client, OpenReportSessionInput{})
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	write("agent-token-2")
	if err := open(); err != nil {
		t.Fatal(err)
	}
	requests := server.received()
	got := make([]string, 0, len(requests))
	for _, request := range requests {
		got = append(got, request.authorization)
	}
	if diff := cmp.Diff([]string{"Bearer " + testToken, "Bearer agent-token-2"}, got); diff != "" {
		t.Errorf("Authorization (-want +got):\n%s", diff)
	}

	for name, content := range map[string]string{
		"an empty file":    " \n",
		"two lines":        "agent-token-3\nagent-token-4",
		"something binary": "agent-token-\x01",
	} {
		t.Run(name, func(t *testing.T) {
			write(content)
			err := open()
			if err == nil {
				t.Fatal("The request succeeded")
			}
			if !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "agent-token") {
				t.Errorf("The error must name the file and not its content: %v", err)
			}
		})
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := open(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("The error must name the missing file: %v", err)
	}
}

func TestTheServersCertificateIsChecked(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"data": map[string]any{"openReportSession": map[string]any{
			"id": "s", "clusterId": "c", "intervalSeconds": 5, "serverTime": testStart,
		}}})
	}))
	t.Cleanup(server.Close)
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(caFile, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		caFile  string
		wantErr bool
	}{
		"with its certificate as the only one to trust": {caFile, false},
		"with the system's certificates":                {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := serverclient.New(server.URL, "", tc.caFile, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			_, err = OpenReportSession(t.Context(), client, OpenReportSessionInput{})
			if (err != nil) != tc.wantErr {
				t.Errorf("error = %v, want one: %t", err, tc.wantErr)
			}
		})
	}
}

func TestP7BodiesAreCompressed(t *testing.T) {
	h := newHarness(t)
	for i := range 200 {
		h.pods.objects = append(h.pods.objects, testPod("prod-shop", fmt.Sprintf("shop-%d", i)))
	}
	sent := map[string][2]int{}
	h.reporter.client.(*serverclient.Client).OnSent(func(operation string, raw, compressed int) {
		sent[operation] = [2]int{raw, compressed}
	})
	mustCycle(t, newLoop(h.reporter))
	for _, request := range h.server.received() {
		sizes := sent[request.OperationName]
		if sizes[0] != len(request.raw) {
			t.Errorf("%s: %d bytes are counted before compression, %d arrived", request.OperationName, sizes[0], len(request.raw))
		}
	}
	if pods := sent["ReportPodStatuses"]; pods[1]*4 > pods[0] {
		t.Errorf("%d bytes are compressed to %d", pods[0], pods[1])
	}
}
