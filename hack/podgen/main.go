// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Command podgen fills an API server with pods of realistic size and
// StyrminDeployments beside them, and changes the pods' statuses at a rate. It is
// for load tests: no kubelet is needed, and none must be there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/styrmin/styrmin/hack/podgen/generate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "podgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("podgen", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "File that says how to reach the API server.")
	options := generate.Options{}
	flags.IntVar(&options.Pods, "pods", 1000, "How many pods there shall be.")
	flags.IntVar(&options.Namespaces, "namespaces", 200, "Over how many namespaces they are spread.")
	flags.IntVar(&options.Deployments, "deployments", 100, "How many StyrminDeployments there shall be.")
	rate := flags.Int("rate", 0, "Status changes per second; 0 for none.")
	duration := flags.Duration("for", 0, "How long to go on changing; 0 until it is interrupted.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	cluster, err := generate.New(config, options)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cluster.Fill(ctx); err != nil {
		return err
	}
	fmt.Printf("There are %d pods in %d namespaces and %d StyrminDeployments; it took %s\n",
		options.Pods, options.Namespaces, options.Deployments, time.Since(began).Round(time.Second))
	if *rate == 0 {
		return nil
	}
	if *duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *duration)
		defer cancel()
	}
	changed, err := cluster.Change(ctx, *rate)
	fmt.Printf("%d statuses were changed\n", changed)
	return err
}
