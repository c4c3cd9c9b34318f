// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

// parseStatus reads a status as people write it.
func parseStatus(word string) (sdk.DeploymentStatus, error) {
	status := sdk.DeploymentStatus(strings.ToUpper(word))
	for _, known := range append(statuses, "") {
		if status == known {
			return status, nil
		}
	}
	return "", &usageError{fmt.Errorf("--status: %q is none of %s", word, strings.Join(statusWords(), ", "))}
}

func statusWords() []string {
	words := make([]string, len(statuses))
	for i, status := range statuses {
		words[i] = strings.ToLower(string(status))
	}
	return words
}

func newPods(a *app) *cobra.Command {
	var where place
	var unhealthy bool
	var format output
	command := &cobra.Command{
		Use:   "pods NAME",
		Short: "List the pods of a deployment",
		Long:  `List the pods of a deployment as the agent last reported them.`,
		Example: `  styrminctl deployments pods shop
  styrminctl deployments pods shop --unhealthy`,
		Args:              countArguments,
		ValidArgsFunction: a.completeDeployment,
		RunE: func(command *cobra.Command, args []string) error {
			client, err := a.connect()
			if err != nil {
				return err
			}
			deployment, _, err := a.deployment(command.Context(), client, args[0], where)
			if err != nil {
				return err
			}
			list := client.Deployments.Pods
			if unhealthy {
				list = client.Deployments.UnhealthyPods
			}
			pods, err := list(command.Context(), deployment.ID)
			if err != nil {
				return err
			}
			if !format.isForScripts() {
				a.setClock(command.Context(), client)
			}
			return a.printPods(format, pods)
		},
	}
	where.addFlags(a, command)
	command.Flags().BoolVar(&unhealthy, "unhealthy", false, "only pods that are neither ready nor have succeeded")
	addOutput(command, &format, outputWide, outputJSON, outputYAML, outputName)
	return command
}

func (a *app) printPods(format output, pods []sdk.Pod) error {
	if done, err := printPlainly(a, format, "pod", pods, func(p *sdk.Pod) string { return p.Name }); done {
		return err
	}
	return table(a.Out, a.podRows(pods, format == outputWide))
}

// podRows are a table of pods with kubectl's columns.
func (a *app) podRows(pods []sdk.Pod, wide bool) [][]string {
	headings := []string{"NAME", "READY", "STATUS", "RESTARTS", "AGE", "COMPONENT"}
	if wide {
		headings = append(headings, "NODE", "NAMESPACE")
	}
	rows := append(make([][]string, 0, 1+len(pods)), append(headings, "MESSAGE"))
	for i := range pods {
		pod := &pods[i]
		row := []string{
			pod.Name, fmt.Sprintf("%d/%d", pod.ReadyContainers, pod.TotalContainers), pod.Status,
			fmt.Sprint(pod.Restarts), a.age(pod.CreatedAt), orNone(pod.Component),
		}
		message := oneLine(pod.Message)
		if wide {
			row = append(row, orNone(pod.Node), pod.Namespace)
		} else {
			message = cut(message, maxMessage)
		}
		rows = append(rows, append(row, message))
	}
	return rows
}
