// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

func newGet(a *app) *cobra.Command {
	var where place
	var format output
	command := &cobra.Command{
		Use:   "get NAME",
		Short: "Show a deployment: its status, what is declared and observed, what is wrong",
		Long: `Show a deployment: its status with the reason and since when, what is declared
beside what is observed, the steps of its newest task while that is on its way or
has failed, and the pods that are not healthy.`,
		Example: `  styrminctl deployments get shop
  styrminctl deployments get shop --environment prod -o yaml`,
		Args:              countArguments,
		ValidArgsFunction: a.completeDeployment,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			client, err := a.connect()
			if err != nil {
				return err
			}
			deployment, known, err := a.deployment(ctx, client, args[0], where)
			if err != nil {
				return err
			}
			switch format {
			case outputName:
				a.print("deployment/%s", deployment.Name)
				return nil
			case outputJSON, outputYAML:
				// With the spec, which lists leave out.
				if deployment, err = client.Deployments.Get(ctx, deployment.ID); err != nil {
					return err
				}
				return a.encode(format, deployment)
			}
			return a.describe(ctx, client, deployment.ID, known)
		},
	}
	where.addFlags(a, command)
	addOutput(command, &format, outputJSON, outputYAML, outputName)
	return command
}

// describe shows all that is to know of a deployment.
func (a *app) describe(ctx context.Context, client *sdk.Client, id string, known clusters) error {
	d, err := client.Deployments.Get(ctx, id)
	if err != nil {
		return err
	}
	task, err := newestTask(ctx, client, id, func(*sdk.Task) bool { return true })
	if err != nil {
		return err
	}
	unhealthy, err := client.Deployments.UnhealthyPods(ctx, id)
	if err != nil {
		return err
	}
	a.setClock(ctx, client)
	return a.printDescription(d, known, task, unhealthy)
}

// printDescription prints what was read of a deployment; task is its newest, or
// nil.
func (a *app) printDescription(d *sdk.Deployment, known clusters, task *sdk.Task, unhealthy []sdk.Pod) error {
	a.printSummary(d, known)
	if err := a.printComparison(d); err != nil {
		return err
	}
	if task != nil && (task.Result == sdk.ResultRunning || task.Result == sdk.ResultFailed) {
		a.print("")
		a.printTask(task, false)
	}
	if len(unhealthy) > 0 {
		a.print("\nUnhealthy pods:")
		return table(a.Out, a.podRows(unhealthy, false))
	}
	return nil
}

func (a *app) printSummary(d *sdk.Deployment, known clusters) {
	colour := a.paletteFor(a.Out)
	managed := "styrmin"
	if d.ManagedBy == sdk.ManagedByCluster {
		managed = "the cluster: its StyrminDeployment was applied there"
	}
	rows := [][2]string{
		{"Name", d.Name},
		{"Environment", orNone(d.Environment)},
		{"Cluster", known.name(d.ClusterID)},
		{"ID", d.ID},
		{"Managed by", managed},
		{"Status", colour.status(d.Status) + " for " + a.age(d.StatusSince)},
	}
	if d.StatusMessage != "" {
		rows = append(rows, [2]string{"Reason", oneLine(d.StatusMessage)})
	}
	report := "never"
	if !d.LastReportAt.IsZero() {
		report = a.age(d.LastReportAt) + " ago"
	}
	rows = append(rows, [2]string{"Last report", report})
	for _, row := range rows {
		a.print("%-13s %s", row[0]+":", row[1])
	}
}

func (p palette) status(status sdk.DeploymentStatus) string {
	switch status {
	case sdk.StatusRunning:
		return p.green(string(status))
	case sdk.StatusFailed:
		return p.red(string(status))
	case sdk.StatusDeleted:
		return p.dim(string(status))
	}
	return p.yellow(string(status))
}

// printComparison puts what is declared beside what is observed.
func (a *app) printComparison(d *sdk.Deployment) error {
	declared, err := declaredComponents(d)
	if err != nil {
		return err
	}
	rows := [][]string{{"", "DECLARED", "OBSERVED"}}
	instance, version, observedInstance, phase := none, orNone(d.Version), none, none
	if d.Instance != nil {
		instance, version = d.Instance.ID, orNone(d.Instance.Version)
	}
	if d.Observed != nil {
		observedInstance, phase = d.Observed.InstanceID, d.Observed.Phase+", "+d.Observed.DisplayState
	}
	rows = append(rows, []string{"Instance", instance, observedInstance}, []string{"Version", version, ""}, []string{"Phase", "", phase})
	var observed []sdk.Component
	if d.Observed != nil {
		observed = d.Observed.Components
	}
	for _, component := range declared {
		i := slices.IndexFunc(observed, func(c sdk.Component) bool { return c.Name == component.name })
		state := none
		if i >= 0 {
			state = describeComponent(observed[i])
			observed = slices.Delete(slices.Clone(observed), i, i+1)
		}
		rows = append(rows, []string{component.name, component.text, state})
	}
	for _, component := range observed {
		rows = append(rows, []string{component.Name, "", describeComponent(component)})
	}
	a.print("")
	return table(a.Out, rows)
}

func describeComponent(c sdk.Component) string {
	return fmt.Sprintf("%d of %d ready, %s", c.Ready, c.Desired, c.State)
}

// declaredComponent is what should run of a component.
type declaredComponent struct{ name, text string }

// declaredComponents are those of the instance's spec.
func declaredComponents(d *sdk.Deployment) ([]declaredComponent, error) {
	if d.Instance == nil || len(d.Instance.Spec) == 0 {
		return nil, nil
	}
	var spec struct {
		Components []struct {
			Name     string
			Replicas *int
			Running  *bool
		}
	}
	if err := json.Unmarshal(d.Instance.Spec, &spec); err != nil {
		return nil, fmt.Errorf("reading the declared spec: %w", err)
	}
	var components []declaredComponent
	for _, c := range spec.Components {
		replicas := 1
		if c.Replicas != nil {
			replicas = *c.Replicas
		}
		text := fmt.Sprintf("%d replicas", replicas)
		if replicas == 1 {
			text = "1 replica"
		}
		if c.Running != nil && !*c.Running {
			text = "stopped, " + text + " when started"
		}
		components = append(components, declaredComponent{c.Name, text})
	}
	return components, nil
}

// printTask prints a task with its steps; whole with every attempt.
func (a *app) printTask(task *sdk.Task, whole bool) {
	colour := a.paletteFor(a.Out)
	text := fmt.Sprintf("Task %s: %s, %s", task.ID, describeKind(task.Kind), strings.ToLower(string(task.Result)))
	if took := a.took(task.StartedAt, endOf(task)); took != "" {
		text += " for " + took
		if task.Result != sdk.ResultRunning {
			text = strings.Replace(text, " for ", " after ", 1)
		}
	}
	a.print("%s", text)
	t := tree{palette: colour, now: a.now(), whole: whole}
	for _, line := range t.lines(task, nil) {
		a.print("%s", line)
	}
	if task.FailureReason != "" && whole {
		a.print("%s", colour.red(oneLine(task.FailureReason)))
	}
}

// endOf is when the last part of a task ended; zero while one goes on.
func endOf(task *sdk.Task) time.Time {
	if task.Result == sdk.ResultRunning {
		return time.Time{}
	}
	end := task.FinishedAt
	for i := range task.Steps {
		if at := task.Steps[i].EndedAt; at.After(end) {
			end = at
		}
	}
	return end
}
