// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// snapshotVersion is the version of Flux's snapshots that ours have the form of.
const snapshotVersion = "v2"

// Helm's marks of ownership.
const (
	labelManagedBy             = "app.kubernetes.io/managed-by"
	annotationReleaseName      = "meta.helm.sh/release-name"
	annotationReleaseNamespace = "meta.helm.sh/release-namespace"
)

// digestValues digests values as Flux does: their YAML with sorted keys, and nothing at all for no values.
func digestValues(values map[string]any) (string, error) {
	var content []byte
	if len(values) > 0 {
		var err error
		if content, err = yaml.Marshal(values); err != nil {
			return "", fmt.Errorf("digest the values: %w", err)
		}
	}
	return digest(content), nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// snapshotOf records a release of Helm's storage the way that status.history does.
func snapshotOf(release *helmrelease.Release, action helmv2.ReleaseAction) (*helmv2.Snapshot, error) {
	configDigest, err := digestValues(release.Config)
	if err != nil {
		return nil, err
	}
	releaseDigest, err := digestRelease(release)
	if err != nil {
		return nil, err
	}
	snapshot := &helmv2.Snapshot{
		APIVersion:    snapshotVersion,
		Digest:        releaseDigest,
		Name:          release.Name,
		Namespace:     release.Namespace,
		Version:       release.Version,
		Status:        release.Info.Status.String(),
		Action:        action,
		ConfigDigest:  configDigest,
		FirstDeployed: metav1.NewTime(release.Info.FirstDeployed),
		LastDeployed:  metav1.NewTime(release.Info.LastDeployed),
	}
	if !release.Info.Deleted.IsZero() {
		snapshot.Deleted = metav1.NewTime(release.Info.Deleted)
	}
	if release.Chart != nil && release.Chart.Metadata != nil {
		snapshot.ChartName = release.Chart.Metadata.Name
		snapshot.ChartVersion = release.Chart.Metadata.Version
		snapshot.AppVersion = release.Chart.Metadata.AppVersion
	}
	return snapshot, nil
}

// digestRelease digests what makes a release in Helm's storage the one that was observed.
func digestRelease(release *helmrelease.Release) (string, error) {
	content, err := json.Marshal(struct {
		Name, Namespace, Status, Manifest string
		Version                           int
		Chart                             any
		Config                            map[string]any
		FirstDeployed, LastDeployed       string
	}{
		Name: release.Name, Namespace: release.Namespace, Status: release.Info.Status.String(),
		Manifest: release.Manifest, Version: release.Version, Chart: release.Chart.Metadata, Config: release.Config,
		FirstDeployed: release.Info.FirstDeployed.UTC().Format(time.RFC3339Nano),
		LastDeployed:  release.Info.LastDeployed.UTC().Format(time.RFC3339Nano),
	})
	if err != nil {
		return "", fmt.Errorf("digest the release: %w", err)
	}
	return digest(content), nil
}

// inventoryOf lists the objects of a release's manifest in its order.
func inventoryOf(release *helmrelease.Release, mapper apimeta.RESTMapper) (*helmv2.ResourceInventory, error) {
	objects, err := manifestObjects(release, mapper)
	if err != nil {
		return nil, err
	}
	inventory := &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{}}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		inventory.Entries = append(inventory.Entries, helmv2.ResourceRef{
			ID:      strings.Join([]string{object.GetNamespace(), object.GetName(), kind.Group, kind.Kind}, "_"),
			Version: kind.Version,
		})
	}
	return inventory, nil
}

// manifestObjects returns the objects of a release as Helm applies them: in the release's namespace where they are
// namespaced and name none, and with Helm's marks of ownership.
func manifestObjects(release *helmrelease.Release, mapper apimeta.RESTMapper) ([]*unstructured.Unstructured, error) {
	manifests := releaseutil.SplitManifests(release.Manifest)
	keys := slices.Collect(maps.Keys(manifests))
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	var objects []*unstructured.Unstructured
	for _, key := range keys {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifests[key]), &object.Object); err != nil {
			return nil, fmt.Errorf("read the release's manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetNamespace() == "" && isNamespaced(object.GroupVersionKind(), mapper) {
			object.SetNamespace(release.Namespace)
		}
		object.SetLabels(with(object.GetLabels(), map[string]string{labelManagedBy: "Helm"}))
		object.SetAnnotations(with(object.GetAnnotations(), map[string]string{
			annotationReleaseName: release.Name, annotationReleaseNamespace: release.Namespace,
		}))
		objects = append(objects, object)
	}
	return objects, nil
}

func with(existing, added map[string]string) map[string]string {
	if existing == nil {
		return added
	}
	maps.Copy(existing, added)
	return existing
}

// isNamespaced takes a kind that the API does not know for a namespaced one: most are.
func isNamespaced(kind schema.GroupVersionKind, mapper apimeta.RESTMapper) bool {
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return err != nil || mapping.Scope.Name() == apimeta.RESTScopeNameNamespace
}
