// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sdktest runs the real server for the tests of the SDK and of what is
// built on it, and plays the agent of a cluster beside it.
package sdktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the built server.
var program string

// Main builds the server, runs the tests of a package and returns their exit
// code, for TestMain.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "styrmin-sdktest-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "styrmin-server")
	build := exec.Command("go", "build", "-o", program, "github.com/styrmin/styrmin/cmd/server") //nolint:gosec,noctx // Ours, before any test.
	if output, err := build.CombinedOutput(); err != nil {
		return failed(fmt.Errorf("building the server: %w\n%s", err, output))
	}
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// Server is a server that runs until its test ends, with a database of its own.
type Server struct {
	// URL is its address, AdminToken a token that may do everything.
	URL, AdminToken string

	dir    string
	listen string
	stop   func() error
}

// Start starts a server.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{dir: t.TempDir(), listen: "127.0.0.1:0"}
	s.Resume(t)
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("Stopping the server: %v", err)
		}
	})
	token, err := os.ReadFile(filepath.Join(s.dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	s.AdminToken = strings.TrimSpace(string(token))
	return s
}

// Suspend ends the server; until Resume, nothing answers.
func (s *Server) Suspend(t testing.TB) {
	t.Helper()
	if err := s.stop(); err != nil {
		t.Fatalf("Stopping the server: %v", err)
	}
	s.stop = func() error { return nil }
}

// Resume starts the server on its database, at the address that it had.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	//nolint:gosec // The program is ours.
	command := exec.CommandContext(context.Background(), program,
		"--listen", s.listen, "--metrics-listen", "",
		"--database", "sqlite:"+filepath.Join(s.dir, "styrmin.db"),
		"--admin-token-file", filepath.Join(s.dir, "admin.token"))
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("Starting the server: %v", err)
	}
	lines := bufio.NewReader(log)
	s.listen, err = servedAddress(lines)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	s.URL = "http://" + s.listen
	s.stop = func() error {
		err := command.Process.Signal(syscall.SIGTERM)
		<-drained
		return errors.Join(err, command.Wait())
	}
	if err != nil {
		t.Fatalf("Starting the server: %v", errors.Join(err, s.stop()))
	}
}

// servedAddress reads the log to the line that says where the server serves.
func servedAddress(log *bufio.Reader) (string, error) {
	var read []byte
	for {
		text, err := log.ReadBytes('\n')
		read = append(read, text...)
		var line struct{ Msg, Address string }
		if json.Unmarshal(text, &line) == nil && line.Msg == "Serving" {
			return line.Address, nil
		}
		if err != nil {
			return "", fmt.Errorf("it ended early: %s", read)
		}
	}
}

// do makes a GraphQL call and reads its data into answer.
func (s *Server) do(ctx context.Context, token, query string, variables map[string]any, answer any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var result struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		return fmt.Errorf("the server answered %s: %w", response.Status, err)
	}
	if len(result.Errors) > 0 {
		return fmt.Errorf("%.60s…: %s", query, result.Errors[0].Message)
	}
	return json.Unmarshal(result.Data, answer)
}
