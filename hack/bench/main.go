// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the reporter beside two plain ways to do the same, on a
// real API server with pods of realistic size, and the real server: what each
// takes of memory, CPU and network, what it asks of the API server, and how soon
// a change is a row. Each contender is a process of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrl.SetLogger(logr.Discard()) // What goes wrong comes back as errors.
	run := runBenchmark
	args := os.Args[1:]
	if len(args) > 0 && args[0] == contenderCommand {
		run, args = runContender, args[1:]
	}
	if err := run(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are what one run of the benchmark is told.
type settings struct {
	sizes  []int
	window time.Duration
	server string
	crds   string
	docs   string
}

func runBenchmark(ctx context.Context, args []string) error {
	s := settings{sizes: []int{1000, 10_000, 50_000}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Func("pods", "How many pods there are, several numbers with commas. Default: 1000,10000,50000.", func(list string) error {
		s.sizes = nil
		for text := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			s.sizes = append(s.sizes, n)
		}
		return nil
	})
	flags.DurationVar(&s.window, "window", 40*time.Second, "How long each contender is measured.")
	flags.StringVar(&s.server, "server", "bin/styrmin-server", "The server's program.")
	flags.StringVar(&s.crds, "crds", "config/crd/bases", "Folder of the custom resource definitions.")
	flags.StringVar(&s.docs, "write", "", "Markdown file whose part about the reporter is written anew with what is measured.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var all []result
	for _, size := range s.sizes {
		results, err := measureSize(ctx, &s, size)
		if err != nil {
			return fmt.Errorf("with %d pods: %w", size, err)
		}
		all = append(all, results...)
		fmt.Println(table(results))
	}
	text := table(all) + "\n" + goals(all)
	fmt.Println(text)
	if s.docs == "" {
		return nil
	}
	return writeDocs(s.docs, all)
}
