// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// programDirs is where packages put PostgreSQL's programs, besides PATH.
const programDirs = "/usr/lib/postgresql/*/bin"

// errNoPostgres says that the machine cannot run the tests on PostgreSQL.
var errNoPostgres = errors.New("PostgreSQL is not installed: apt-get install postgresql, or have initdb and postgres in PATH")

const (
	superuser    = "postgres"
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
)

// private is the PostgreSQL server of this test process.
var private struct {
	once    sync.Once
	err     error
	dir     string
	process *exec.Cmd
	output  bytes.Buffer

	mu      sync.Mutex
	schemas int
}

// Main runs the tests of a package and then ends the PostgreSQL server that
// they started. A package that uses Run or Postgres calls it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "ending PostgreSQL:", err)
		code = 1
	}
	os.Exit(code)
}

// Postgres returns the URL of a new schema, which is cheaper than a database and
// as good as one, on a PostgreSQL server of this test process. It skips the test where the machine has no PostgreSQL.
func Postgres(t testing.TB) string {
	t.Helper()
	private.once.Do(func() { private.err = start() })
	if errors.Is(private.err, errNoPostgres) {
		t.Skip(private.err)
	}
	if private.err != nil {
		t.Fatalf("starting PostgreSQL: %v\n%s", private.err, private.output.String())
	}
	private.mu.Lock()
	private.schemas++
	name := fmt.Sprintf("test_%d", private.schemas)
	private.mu.Unlock()
	if err := execute(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatalf("creating a schema: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(context.Background(), "DROP SCHEMA "+name+" CASCADE"); err != nil {
			t.Errorf("dropping the schema: %v", err)
		}
	})
	return databaseURL(url.Values{"search_path": {name}})
}

func databaseURL(query url.Values) string {
	query.Set("host", private.dir)
	query.Set("user", superuser)
	return "postgres:///postgres?" + query.Encode()
}

func execute(ctx context.Context, statement string) error {
	connection, err := pgx.Connect(ctx, databaseURL(url.Values{}))
	if err != nil {
		return err
	}
	_, err = connection.Exec(ctx, statement)
	return errors.Join(err, connection.Close(ctx))
}

// start makes a server in a folder of its own that listens on a socket there. It
// need not survive a crash of the machine, so nothing waits for the disk.
func start() error {
	initdb, postgres, err := programs()
	if err != nil {
		return err
	}
	if private.dir, err = os.MkdirTemp("", "styrmin-postgres-"); err != nil {
		return err
	}
	credential, err := unprivileged(private.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(private.dir, "data")
	command := func(program string, args ...string) *exec.Cmd {
		//nolint:gosec,noctx // The programs are PostgreSQL's own, and outlive every single test.
		c := exec.Command(program, args...)
		c.Dir = private.dir
		c.Stdout, c.Stderr = &private.output, &private.output
		c.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
		return c
	}
	err = command(initdb, "-D", data, "-U", superuser, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8").Run()
	if err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	private.process = command(postgres, "-D", data, "-k", private.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "max_connections=200", "-c", "shared_buffers=128MB")
	if err := private.process.Start(); err != nil {
		return err
	}
	return waitUntilReady()
}

func waitUntilReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := execute(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func programs() (initdb, postgres string, err error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return path, filepath.Join(filepath.Dir(path), "postgres"), nil
	}
	dirs, err := filepath.Glob(programDirs)
	if err != nil {
		return "", "", err
	}
	if len(dirs) == 0 {
		return "", "", errNoPostgres
	}
	newest := slices.MaxFunc(dirs, func(a, b string) int { return version(a) - version(b) })
	return filepath.Join(newest, "initdb"), filepath.Join(newest, "postgres"), nil
}

func version(dir string) int {
	number, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // a folder of another name is the oldest
	return number
}

// unprivileged gives the folder to a user that PostgreSQL runs as: it refuses to
// run as root. Nil: as this process.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup(superuser)
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// stop ends the server, if it was started, and removes its folder.
func stop() error {
	if private.dir == "" {
		return nil
	}
	var failed error
	if private.process != nil && private.process.Process != nil {
		failed = stopProcess(private.process)
	}
	return errors.Join(failed, os.RemoveAll(private.dir))
}

// stopProcess asks for a fast shutdown, and kills what does not follow.
func stopProcess(process *exec.Cmd) error {
	if err := process.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	timer := time.AfterFunc(stopTimeout, func() { _ = process.Process.Kill() })
	defer timer.Stop()
	return process.Wait()
}
