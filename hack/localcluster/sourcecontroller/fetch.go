// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sourcecontroller

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/registry"
	repo "helm.sh/helm/v4/pkg/repo/v1"
)

// defaultTimeout bounds one download where the repository's spec sets no timeout.
const defaultTimeout = time.Minute

// errNoSuchVersion says that the repository answered and does not have the chart in a version that is asked for.
var errNoSuchVersion = errors.New("invalid chart reference: failed to get chart version for remote reference")

// fetchIndex downloads the index of a chart repository.
func fetchIndex(repository *sourcev1.HelmRepository) ([]byte, error) {
	location, err := repo.ResolveReferenceURL(withSlash(repository.Spec.URL), "index.yaml")
	if err != nil {
		return nil, fmt.Errorf("failed to fetch Helm repository index: %w", err)
	}
	content, err := download(location, repository)
	if err != nil {
		return nil, fmt.Errorf("failed to fetch Helm repository index: %w", err)
	}
	return content, nil
}

// fetchChart downloads the newest version that matches and returns it with that version.
func fetchChart(repository *sourcev1.HelmRepository, index *repo.IndexFile, chart, version string) ([]byte, string, error) {
	if repository.Spec.Type == sourcev1.HelmRepositoryTypeOCI {
		return pullChart(repository, chart, version)
	}
	entry, err := index.Get(chart, version)
	if err != nil || len(entry.URLs) == 0 {
		return nil, "", fmt.Errorf("%w: no '%s' chart with version matching '%s' found", errNoSuchVersion, chart, version)
	}
	location, err := repo.ResolveReferenceURL(withSlash(repository.Spec.URL), entry.URLs[0])
	if err != nil {
		return nil, "", fmt.Errorf("chart pull error: %w", err)
	}
	content, err := download(location, repository)
	if err != nil {
		return nil, "", fmt.Errorf("chart pull error: failed to download chart for remote reference: %w", err)
	}
	return content, entry.Version, nil
}

// pullChart pulls a chart from an OCI registry.
func pullChart(repository *sourcev1.HelmRepository, chart, version string) ([]byte, string, error) {
	var options []registry.ClientOption
	if repository.Spec.Insecure {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return nil, "", fmt.Errorf("chart pull error: %w", err)
	}
	reference := strings.TrimPrefix(withSlash(repository.Spec.URL), registry.OCIScheme+"://") + chart
	tags, err := client.Tags(reference)
	if err != nil {
		return nil, "", fmt.Errorf("chart pull error: failed to list the versions of %s: %w", reference, err)
	}
	tag, err := registry.GetTagMatchingVersionOrConstraint(tags, version)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", errNoSuchVersion, err)
	}
	result, err := client.Pull(reference + ":" + tag)
	if err != nil {
		return nil, "", fmt.Errorf("chart pull error: failed to download chart for remote reference: %w", err)
	}
	return result.Chart.Data, result.Chart.Meta.Version, nil
}

func download(location string, repository *sourcev1.HelmRepository) ([]byte, error) {
	parsed, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, fmt.Errorf("scheme %q is not supported", parsed.Scheme)
	}
	timeout := defaultTimeout
	if repository.Spec.Timeout != nil {
		timeout = repository.Spec.Timeout.Duration
	}
	client, err := getter.NewHTTPGetter(getter.WithURL(location), getter.WithTimeout(timeout))
	if err != nil {
		return nil, err
	}
	content, err := client.Get(location)
	if err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// withSlash makes a URL one that references are resolved below.
func withSlash(location string) string { return strings.TrimSuffix(location, "/") + "/" }
