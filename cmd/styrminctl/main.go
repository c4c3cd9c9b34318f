// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Command styrminctl reads and changes what a Styrmin server runs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/styrmin/styrmin/cmd/styrminctl/app"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(app.Run(ctx, os.Args[1:], app.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, LookupEnv: os.LookupEnv, Version: version,
	}))
}
