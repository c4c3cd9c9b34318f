// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/cmd/styrminctl/manifest"
	"github.com/styrmin/styrmin/sdk"
)

// applying are the flags of apply.
type applying struct {
	files   []string
	cluster string
	waiting
	output
}

func newApply(a *app) *cobra.Command {
	options := &applying{}
	command := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create or update deployments from files",
		Long: `Create or update deployments from files: StyrminDeployments as YAML or JSON, one or
several documents in a file. metadata.name and spec.environment name the
deployment. All documents are checked before the first is applied; unknown fields
are refused with their file and line. Where a document changes nothing but the
version, the hooks that the deployment has for upgrades run.`,
		Example: `  styrminctl deployments apply -f shop.yaml --wait
  styrminctl deployments apply -f deployments/ --cluster production
  generate-shop | styrminctl deployments apply -f -`,
		Args:              countArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.apply(command.Context(), options)
		},
	}
	command.Flags().StringArrayVarP(&options.files, "filename", "f", nil, "file, folder, or - for standard input; may be repeated")
	command.Flags().StringVar(&options.cluster, "cluster", "", "cluster to apply to, by name or id; needed where there are several")
	options.addFlags(command)
	addOutput(command, &options.output, outputJSON, outputYAML, outputName)
	// They fail only for flags that do not exist.
	_ = command.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = command.RegisterFlagCompletionFunc("cluster", a.completeClusters)
	return command
}

// application is a document and the deployment that it is about.
type application struct {
	*manifest.Document
	clusterID string
	// id of the deployment that it updates; empty: it is to be created.
	id string
	// upgradeTo is the version, where that is all that changes.
	upgradeTo string
}

func (a *app) apply(ctx context.Context, options *applying) error {
	if len(options.files) == 0 {
		return &usageError{errors.New("nothing to apply: name a file with -f")}
	}
	documents, err := a.readDocuments(ctx, options.files)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &usageError{err}
	}
	client, err := a.connect()
	if err != nil {
		return err
	}
	applications, err := a.plan(ctx, client, documents, options.cluster)
	if err != nil {
		return err
	}
	end := a.clock().Add(options.timeout)
	made := []*change{}
	var failed []error
	for _, application := range applications {
		if ctx.Err() != nil { // The rest would only fail with it.
			failed = append(failed, application.located(ctx.Err()))
			break
		}
		change, err := application.apply(ctx, client)
		if err != nil {
			failed = append(failed, application.located(err))
			continue
		}
		a.tell(options.output, change, options.wait)
		made = append(made, change)
	}
	for _, change := range made {
		if !options.wait {
			break
		}
		err := a.await(ctx, client, change, end, options.output)
		failed = append(failed, err)
		var interrupted *interruptedError
		if errors.As(err, &interrupted) {
			break
		}
	}
	if options.output == outputJSON || options.output == outputYAML {
		failed = append(failed, a.encode(options.output, made))
	}
	return errors.Join(failed...)
}

// readDocuments reads all documents of all files.
func (a *app) readDocuments(ctx context.Context, files []string) ([]*manifest.Document, error) {
	var documents []*manifest.Document
	faults := make([]error, 0, len(files))
	for _, name := range files {
		found, err := a.readFiles(ctx, name)
		documents, faults = append(documents, found...), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("there is no %s in %s", manifest.Kind, strings.Join(files, ", "))
	}
	first := map[string]*manifest.Document{}
	for _, document := range documents {
		key := document.Environment + "/" + document.Name
		if other := first[key]; other != nil {
			return nil, fmt.Errorf("%s: deployment %s of environment %s is in %s, too",
				document.At("metadata.name"), document.Name, document.Environment, other.At("metadata.name"))
		}
		first[key] = document
	}
	return documents, nil
}

// readFiles reads a file, the files of a folder, or standard input.
func (a *app) readFiles(ctx context.Context, name string) ([]*manifest.Document, error) {
	if name == "-" {
		return manifest.Read("standard input", interruptible(ctx, a.In))
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return readFile(name)
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var documents []*manifest.Document
	var faults []error
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			continue
		}
		found, err := readFile(filepath.Join(name, entry.Name()))
		documents, faults = append(documents, found...), append(faults, err)
	}
	return documents, errors.Join(faults...)
}

func readFile(name string) ([]*manifest.Document, error) {
	file, err := os.Open(name) //nolint:gosec // The user names the file.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return manifest.Read(name, file)
}

// plan finds out which deployments the documents are about.
func (a *app) plan(ctx context.Context, client *sdk.Client, documents []*manifest.Document, cluster string) ([]*application, error) {
	listed, err := client.Clusters.List(ctx)
	if err != nil {
		return nil, err
	}
	into, err := targetCluster(listed, cluster)
	if err != nil {
		return nil, err
	}
	var applications []*application
	for _, document := range documents {
		found, err := client.Deployments.List(ctx, sdk.DeploymentFilter{
			ClusterID: into.ID, Environment: document.Environment, Name: document.Name,
		})
		if err != nil {
			return nil, err
		}
		planned := &application{Document: document, clusterID: into.ID}
		for _, d := range found {
			if d.ManagedBy == sdk.ManagedByCluster {
				return nil, fmt.Errorf("%s: deployment %s was applied straight to the cluster: change its StyrminDeployment there",
					document.At("metadata.name"), d.Name)
			}
			planned.id = d.ID
			if err := a.planVersion(ctx, client, planned); err != nil {
				return nil, err
			}
		}
		applications = append(applications, planned)
	}
	return applications, nil
}

// planVersion makes an upgrade, with its hooks, of a document that changes the
// version alone. An upgrade is made of what is declared when its turn comes, so
// nothing else must be on its way. It warns where hooks are not run.
func (a *app) planVersion(ctx context.Context, client *sdk.Client, planned *application) error {
	deployment, err := client.Deployments.Get(ctx, planned.id)
	if err != nil {
		return err
	}
	change, err := compareVersions(deployment.Instance, planned.Spec)
	if err != nil || change.to == "" {
		return err
	}
	atWork, err := newestTask(ctx, client, planned.id, func(task *sdk.Task) bool {
		return task.Status == sdk.TaskPending || task.Status == sdk.TaskRunning
	})
	switch {
	case err != nil:
		return err
	case change.alone && atWork == nil:
		planned.upgradeTo = change.to
	case change.hooked && atWork != nil:
		a.warn("%s: the hooks of upgrades do not run, since task %s is at work on the deployment", planned.At("spec.version"), atWork.ID)
	case change.hooked:
		a.warn("%s: the hooks of upgrades do not run, since more changes than the version: "+
			"to run them, change the version alone", planned.At("spec.version"))
	}
	return nil
}

// targetCluster is the named cluster, or the only one.
func targetCluster(known clusters, name string) (*sdk.Cluster, error) {
	switch {
	case name != "":
		return known.find(name)
	case len(known) == 1:
		return &known[0], nil
	case len(known) == 0:
		return nil, errors.New("the server knows no cluster: register one with styrminctl clusters create")
	}
	names := make([]string, len(known))
	for i, cluster := range known {
		names[i] = cluster.Name
	}
	return nil, &usageError{fmt.Errorf("there are several clusters: say which one with --cluster: %s", strings.Join(names, ", "))}
}

// apply creates, updates or upgrades the deployment.
func (p *application) apply(ctx context.Context, client *sdk.Client) (*change, error) {
	if p.id != "" {
		task, err := p.update(ctx, client)
		if err != nil {
			return nil, err
		}
		return newChange(p.Name, p.id, "configured", task), nil
	}
	task, err := client.Deployments.Create(ctx, sdk.NewDeployment{
		Name: p.Name, ClusterID: p.clusterID, Environment: p.Environment, Internal: p.Internal, Spec: p.Spec,
	})
	if err != nil {
		return nil, err
	}
	return newChange(p.Name, task.DeploymentID, "created", task), nil
}

func (p *application) update(ctx context.Context, client *sdk.Client) (*sdk.Task, error) {
	if p.upgradeTo != "" {
		return client.Deployments.UpdateVersion(ctx, p.id, p.upgradeTo)
	}
	return client.Deployments.Update(ctx, p.id, p.Spec)
}

// located puts before a refusal of the server where the file says what it
// refuses.
func (p *application) located(err error) error {
	path := "metadata.name"
	var refused *sdk.Error
	if errors.As(err, &refused) {
		field := strings.TrimPrefix(refused.Field, "input.")
		if strings.HasPrefix(field, "spec") {
			path = field
		}
		// The file has no input.
		shown := *refused
		shown.Field, shown.Message = field, strings.TrimPrefix(refused.Message, "input.")
		return fmt.Errorf("%s: %w", p.At(path), &shown)
	}
	return fmt.Errorf("%s: %w", p.At(path), err)
}
