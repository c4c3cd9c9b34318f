// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

// defaultTimeout is how long --wait waits.
const defaultTimeout = 10 * time.Minute

// tickInterval is how often a screen is drawn anew while nothing changes.
const tickInterval = 200 * time.Millisecond

// waiting are the flags of a command that can wait.
type waiting struct {
	wait    bool
	timeout time.Duration
}

func (w *waiting) addFlags(command *cobra.Command) {
	command.Flags().BoolVar(&w.wait, "wait", false, "wait until the change has finished, and show its steps meanwhile")
	w.addTimeout(command)
}

// addTimeout adds the flag --timeout, and refuses one that cannot be meant.
func (w *waiting) addTimeout(command *cobra.Command) {
	command.Flags().DurationVar(&w.timeout, "timeout", defaultTimeout, "how long to wait at most; 0 looks once")
	command.PreRunE = func(*cobra.Command, []string) error {
		switch wait := command.Flags().Lookup("wait"); {
		case w.timeout < 0:
			return &usageError{errors.New("--timeout must not be negative")}
		case command.Flags().Changed("timeout") && wait != nil && !w.wait:
			return &usageError{errors.New("--timeout is for --wait, which is not given")}
		}
		return nil
	}
}

// follow waits for a task and shows it while it goes on, to people on a terminal
// drawn, to others told. A wait that the user ends is an interruptedError.
func (a *app) follow(ctx context.Context, client *sdk.Client, task *sdk.Task, name string, timeout time.Duration) (*sdk.Waited, error) {
	a.setClock(ctx, client)
	shown := a.newView(name)
	defer shown.close()
	type end struct {
		waited *sdk.Waited
		err    error
	}
	found, ended := make(chan snapshot), make(chan end, 1)
	go func() {
		waited, err := client.Deployments.WaitForTask(ctx, task.ID, sdk.MaxWait(timeout), sdk.Interval(a.interval),
			sdk.OnProgress(func(progress sdk.Progress) {
				select {
				case found <- snapshot{progress, unhealthyPods(ctx, client, progress)}:
				case <-ctx.Done():
				}
			}))
		ended <- end{waited, err}
	}()
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case look := <-found:
			shown.update(look)
		case <-ticker.C:
			shown.tick()
		case end := <-ended:
			if errors.Is(end.err, context.Canceled) {
				return nil, &interruptedError{task.ID}
			}
			return end.waited, end.err
		}
	}
}

func (a *app) newView(name string) view {
	if terminal := a.asTerminal(a.Err); terminal != nil {
		return &screen{out: terminal.file, size: terminal.size, now: a.now, colour: a.paletteFor(a.Err), name: name}
	}
	return &transcript{say: a.say, name: name}
}

// unhealthyPods are the pods that the operator may be waiting for. They are for
// the eye: where they cannot be read, none are shown.
func unhealthyPods(ctx context.Context, client *sdk.Client, progress sdk.Progress) []sdk.Pod {
	if progress.Err != nil || runningOperatorStep(progress.Task) == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, eyeTimeout)
	defer cancel()
	pods, err := client.Deployments.UnhealthyPods(ctx, progress.Task.DeploymentID)
	if err != nil {
		return nil
	}
	return pods
}
