// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"testing"
	"time"
)

var screenshots = flag.String("screenshots", "", "folder to write the README's pictures of the page to; empty: none are taken")

// TestScreenshots writes the pictures of the README, of the running system: make
// screenshots.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots folder was given")
	}
	ids := map[string]string{}
	for name, environment := range map[string]string{"shop": "prod", "blog": "prod", "search": "prod", "store": "staging", "reports": "staging"} {
		id, _ := createLikeSample(t, name, environment)
		ids[name] = id
	}
	for _, id := range ids {
		eventually(t, 2*time.Minute, "it runs", storeHas(id, "RUNNING", "2.4.1"))
	}
	// A cluster whose agent is still to be installed.
	err := sys.Query(t.Context(), `mutation { createCluster(input: {name: "berlin"}) { cluster { id } } }`, nil, &struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	tab := signIn(t)
	picture := func(name, address string, width int64, scheme string) {
		tab.Size(width, 420)
		tab.Scheme(scheme)
		tab.Visit(sys.ServerURL + address)
		tab.WaitFor("document.readyState === 'complete'")
		tab.Picture(filepath.Join(*screenshots, name+".png"))
	}

	breakImage(t, ids["blog"])
	eventually(t, 2*time.Minute, "a broken image fails", storeHas(ids["blog"], "FAILED", "2.4.1"))
	picture("deployment-failed", "/deployments/"+ids["blog"], 1280, "light")

	upgrade := changeDeployment(t, ids["store"], `updateDeploymentVersion(id: $id, version: "2.5.0")`)
	eventually(t, time.Minute, "the upgrade has run its hook and rolls out", func(ctx context.Context) error {
		read, err := readTask(ctx, upgrade)
		if err == nil && (len(read.Steps) < 4 || read.Steps[3].Status != "RUNNING") {
			err = errors.New("not yet")
		}
		return err
	})
	picture("deployment-rolling-out", "/deployments/"+ids["store"], 1280, "dark")
	picture("overview", "/", 1280, "light")
	picture("overview-narrow", "/", 390, "dark")
	picture("clusters", "/clusters", 1280, "light")
}

// breakImage gives the server component an image that no node can pull.
func breakImage(t *testing.T, id string) {
	t.Helper()
	var read struct {
		Deployment struct{ Instance struct{ Spec map[string]any } }
	}
	if err := sys.Query(t.Context(), `query ($id: ID!) { deployment(id: $id) { instance { spec } } }`, map[string]any{"id": id}, &read); err != nil {
		t.Fatal(err)
	}
	setNested(read.Deployment.Instance.Spec, "registry.example/does-not-exist:1", "helmRelease", "values", "server", "image")
	err := sys.Query(t.Context(), `mutation ($id: ID!, $spec: JSON!) { updateDeployment(id: $id, spec: $spec) { id } }`,
		map[string]any{"id": id, "spec": read.Deployment.Instance.Spec}, &struct{}{})
	if err != nil {
		t.Fatal(err)
	}
}
