// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/styrmin/styrmin/sdk"
)

// A script stops the server of a shop, waits until it has stopped, and ends with
// the reason where that fails.
func Example() {
	ctx := context.Background()
	client, err := sdk.New(os.Getenv("STYRMIN_SERVER_ADDRESS"), sdk.WithToken(os.Getenv("STYRMIN_TOKEN")))
	if err != nil {
		log.Fatal(err)
	}
	found, err := client.Deployments.List(ctx, sdk.DeploymentFilter{Environment: "prod", Name: "shop"})
	if err != nil || len(found) != 1 {
		log.Fatal("there is not one shop: ", err)
	}
	task, err := client.Deployments.StopComponents(ctx, found[0].ID, []string{"server"})
	if err != nil {
		log.Fatal(err)
	}
	waited, err := client.Deployments.WaitForTask(ctx, task.ID, sdk.MaxWait(5*time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	if !waited.Succeeded {
		log.Fatal(waited.FailureReason)
	}
	fmt.Println("The deployment is", waited.Deployment.Status)
}

func ExampleDeploymentsService_Create() {
	ctx, client := connect()
	clusters, err := client.Clusters.List(ctx)
	if err != nil {
		log.Fatal(err)
	}
	task, err := client.Deployments.Create(ctx, sdk.NewDeployment{
		Name: "shop", Environment: "prod", ClusterID: clusters[0].ID,
		Spec: map[string]any{
			"version": "2.4.0",
			"helmRelease": map[string]any{
				"releaseName": "shop",
				"chart":       map[string]any{"repository": "oci://charts.example.com", "name": "shop", "version": "2.4.0"},
			},
			"components": []any{map[string]any{
				"name": "server", "replicas": 3, "replicasValue": "server.replicas",
				"selector": map[string]any{"matchLabels": map[string]any{"component": "server"}},
			}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	waited, err := client.Deployments.WaitForTask(ctx, task.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("It runs:", waited.Succeeded)
}

func ExampleDeploymentsService_Scale() {
	ctx, client := connect()
	task, err := client.Deployments.Scale(ctx, shop(ctx, client), map[string]int{"server": 3})
	if err != nil {
		log.Fatal(err)
	}
	if task == nil {
		fmt.Println("Three replicas are declared already: there is nothing to wait for")
	}
}

func ExampleDeploymentsService_WaitForTask() {
	ctx, client := connect()
	task, err := client.Deployments.UpdateVersion(ctx, shop(ctx, client), "9.9.9")
	if err != nil {
		log.Fatal(err)
	}
	running := ""
	waited, err := client.Deployments.WaitForTask(ctx, task.ID,
		sdk.MaxWait(10*time.Minute),
		sdk.Interval(2*time.Second),
		sdk.OnProgress(func(p sdk.Progress) {
			if p.Err != nil {
				fmt.Println("Trying again:", p.Err)
				return
			}
			for _, step := range p.Task.Steps {
				if step.Status == sdk.StepRunning && step.Name != running {
					running = step.Name
					fmt.Println("Running:", running)
				}
			}
		}))
	switch {
	case err != nil:
		log.Fatal(err)
	case waited.Succeeded:
		fmt.Println("It runs")
	case waited.TimedOut:
		fmt.Println("It goes on, but not while we wait")
	default:
		fmt.Println("It failed:", waited.FailureReason)
	}
}

func ExampleDeploymentsService_UnhealthyPods() {
	ctx, client := connect()
	pods, err := client.Deployments.UnhealthyPods(ctx, shop(ctx, client))
	if err != nil {
		log.Fatal(err)
	}
	for _, pod := range pods {
		fmt.Println(pod.Name, pod.Status, pod.Message)
	}
}

func ExampleError() {
	ctx, client := connect()
	_, err := client.Deployments.RunJob(ctx, shop(ctx, client), "cleanup")
	var refused *sdk.Error
	switch {
	case errors.Is(err, sdk.ErrUnavailable):
		fmt.Println("The server is away; whether the job runs is not known")
	case errors.Is(err, sdk.ErrInvalidInput) && errors.As(err, &refused):
		fmt.Println("The call is wrong:", refused.Message)
	}
}

func ExampleIdempotencyKey() {
	ctx, client := connect()
	key := "migrate-" + os.Getenv("BUILD_NUMBER")
	first, err := client.Deployments.RunJob(ctx, shop(ctx, client), "migrate", sdk.IdempotencyKey(key))
	if err != nil {
		log.Fatal(err)
	}
	// The build is started again: the job is not.
	again, err := client.Deployments.RunJob(ctx, shop(ctx, client), "migrate", sdk.IdempotencyKey(key))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("One task:", first.ID == again.ID)
}

// connect is how the other examples begin.
func connect() (context.Context, *sdk.Client) {
	client, err := sdk.New(os.Getenv("STYRMIN_SERVER_ADDRESS"), sdk.WithToken(os.Getenv("STYRMIN_TOKEN")))
	if err != nil {
		log.Fatal(err)
	}
	return context.Background(), client
}

// shop is the id of the shop in prod.
func shop(ctx context.Context, client *sdk.Client) string {
	found, err := client.Deployments.List(ctx, sdk.DeploymentFilter{Environment: "prod", Name: "shop"})
	if err != nil || len(found) != 1 {
		log.Fatal("there is not one shop: ", err)
	}
	return found[0].ID
}
