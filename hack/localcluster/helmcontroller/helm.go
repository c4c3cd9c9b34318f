// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/go-logr/logr"
	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"helm.sh/helm/v4/pkg/storage/driver"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
)

// helm runs Helm's actions for one HelmRelease.
type helm struct {
	config *action.Configuration
	mapper apimeta.RESTMapper
	hr     *helmv2.HelmRelease
}

// newHelm makes the clients for the release's namespaces. Discovery starts afresh, so that CRDs of a moment ago are known.
func newHelm(ctx context.Context, restConfig *rest.Config, hr *helmv2.HelmRelease) (*helm, error) {
	getter, err := newClientGetter(restConfig, hr.GetReleaseNamespace())
	if err != nil {
		return nil, fmt.Errorf("make Helm's clients: %w", err)
	}
	mapper, err := getter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("make Helm's clients: %w", err)
	}
	config := action.NewConfiguration(action.ConfigurationSetLogger(logr.ToSlogHandler(logr.FromContextOrDiscard(ctx).V(1))))
	if err := config.Init(getter, hr.GetStorageNamespace(), "secret"); err != nil {
		return nil, fmt.Errorf("open Helm's storage: %w", err)
	}
	config.Releases.MaxHistory = hr.GetMaxHistory()
	helmClient := kube.New(getter)
	helmClient.Namespace = hr.GetReleaseNamespace()
	config.KubeClient = &waitingClient{Client: helmClient, done: ctx.Done()}
	return &helm{config: config, mapper: mapper, hr: hr}, nil
}

// history returns the stored releases, the oldest first.
func (h *helm) history() ([]*helmrelease.Release, error) {
	stored, err := h.config.Releases.History(h.hr.GetReleaseName())
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Helm's storage: %w", err)
	}
	releases := make([]*helmrelease.Release, 0, len(stored))
	for _, item := range stored {
		release, ok := item.(*helmrelease.Release)
		if !ok {
			return nil, fmt.Errorf("read Helm's storage: unknown kind of release %T", item)
		}
		releases = append(releases, release)
	}
	releaseutil.SortByRevision(releases)
	return releases, nil
}

// last returns the newest stored release, or nil.
func (h *helm) last() (*helmrelease.Release, error) {
	releases, err := h.history()
	if err != nil || len(releases) == 0 {
		return nil, err
	}
	return releases[len(releases)-1], nil
}

func waitStrategy(disabled bool) kube.WaitStrategy {
	if disabled {
		return kube.HookOnlyStrategy
	}
	return kube.StatusWatcherStrategy
}

func (h *helm) install(ctx context.Context, c *chart.Chart, values map[string]any) error {
	spec := h.hr.GetInstall()
	install := action.NewInstall(h.config)
	install.ReleaseName = h.hr.GetReleaseName()
	install.Namespace = h.hr.GetReleaseNamespace()
	install.CreateNamespace = h.hr.Spec.TargetNamespace != "" && spec.CreateNamespace
	install.Timeout = spec.GetTimeout(h.hr.GetTimeout()).Duration
	install.WaitStrategy = waitStrategy(spec.GetDisableWait())
	install.WaitForJobs = !spec.DisableWaitForJobs
	install.DisableHooks = spec.DisableHooks
	install.DisableOpenAPIValidation = spec.DisableOpenAPIValidation
	install.SkipSchemaValidation = spec.DisableSchemaValidation
	install.Replace = spec.Replace
	install.TakeOwnership = !spec.DisableTakeOwnership
	install.ForceConflicts = true
	install.Devel = true
	_, err := install.RunWithContext(ctx, c, values)
	return err
}

func (h *helm) upgrade(ctx context.Context, c *chart.Chart, values map[string]any) error {
	spec := h.hr.GetUpgrade()
	upgrade := action.NewUpgrade(h.config)
	upgrade.Namespace = h.hr.GetReleaseNamespace()
	upgrade.Timeout = spec.GetTimeout(h.hr.GetTimeout()).Duration
	upgrade.WaitStrategy = waitStrategy(spec.GetDisableWait())
	upgrade.WaitForJobs = !spec.DisableWaitForJobs
	upgrade.DisableHooks = spec.DisableHooks
	upgrade.DisableOpenAPIValidation = spec.DisableOpenAPIValidation
	upgrade.SkipSchemaValidation = spec.DisableSchemaValidation
	upgrade.CleanupOnFail = spec.CleanupOnFail
	upgrade.ResetValues = !spec.PreserveValues
	upgrade.ReuseValues = spec.PreserveValues
	upgrade.MaxHistory = h.hr.GetMaxHistory()
	upgrade.TakeOwnership = !spec.DisableTakeOwnership
	upgrade.ForceConflicts = true
	upgrade.Devel = true
	_, err := upgrade.RunWithContext(ctx, h.hr.GetReleaseName(), c, values)
	return err
}

func (h *helm) rollback(version int) error {
	spec := h.hr.GetRollback()
	rollback := action.NewRollback(h.config)
	rollback.Version = version
	rollback.Timeout = spec.GetTimeout(h.hr.GetTimeout()).Duration
	rollback.WaitStrategy = waitStrategy(spec.GetDisableWait())
	rollback.WaitForJobs = !spec.DisableWaitForJobs
	rollback.DisableHooks = spec.DisableHooks
	rollback.CleanupOnFail = spec.CleanupOnFail
	rollback.ForceConflicts = true
	rollback.MaxHistory = h.hr.GetMaxHistory()
	return rollback.Run(h.hr.GetReleaseName())
}

func (h *helm) uninstall() error {
	spec := h.hr.GetUninstall()
	uninstall := action.NewUninstall(h.config)
	uninstall.Timeout = spec.GetTimeout(h.hr.GetTimeout()).Duration
	uninstall.WaitStrategy = waitStrategy(spec.GetDisableWait())
	uninstall.DisableHooks = spec.DisableHooks
	uninstall.KeepHistory = spec.KeepHistory
	uninstall.DeletionPropagation = spec.GetDeletionPropagation()
	_, err := uninstall.Run(h.hr.GetReleaseName())
	return err
}
