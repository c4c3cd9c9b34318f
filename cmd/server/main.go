// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Command styrmin-server keeps what agents report and answers GraphQL.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/styrmin/styrmin/cmd/server/app"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := app.NewCommand(version).ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}
