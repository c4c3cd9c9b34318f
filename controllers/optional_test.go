// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// readCRDs reads the CustomResourceDefinitions whose file names match.
func readCRDs(t *testing.T, folder, pattern string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("finding %s in %s: %d files, %v", pattern, folder, len(files), err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(files))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(bytes.TrimPrefix(data, []byte("---\n")), crd); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		crds = append(crds, crd)
	}
	return crds
}

func installCRDs(t *testing.T, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: crds, MaxTime: time.Minute}); err != nil {
		t.Fatalf("installing CustomResourceDefinitions: %v", err)
	}
}

// TestO9APIsThatComeLater: an API server without Flux and Traefik gets first the
// one, then the other in its old group, while the operator runs. Each
// deployment fails only for what it needs itself.
func TestO9APIsThatComeLater(t *testing.T) {
	environment, config, err := startAPIServer(crdFolders[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	startOperator(t, config, fast(), nil)
	c := newClient(t, config)
	routed, d := newFixture(t, c, "routed")
	routed.create(d)
	plain, d := newFixture(t, c, "plain")
	d.Spec.Services[0].HTTP, d.Spec.Middlewares = nil, nil
	plain.create(d)

	failsFor := func(f *fixture, condition, kind string) {
		t.Helper()
		var got string
		eventually(t, f.key.Name+" to miss "+kind, func() error {
			d := f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
			c := apimeta.FindStatusCondition(d.Status.Conditions, condition)
			if got = c.Message; c.Reason != styrminv1.ReasonMissingAPI || !strings.HasPrefix(got, "the cluster does not serve "+kind) {
				return errText(c.Reason + ": " + got)
			}
			return nil
		})
	}
	failsFor(routed, styrminv1.ConditionPrerequisitesReady, "HelmRepository of source.toolkit.fluxcd.io/v1")
	failsFor(plain, styrminv1.ConditionPrerequisitesReady, "HelmRepository of source.toolkit.fluxcd.io/v1")

	installCRDs(t, config, readCRDs(t, crdFolders[1], "*fluxcd.io*"))
	simulate(t, config)
	plain.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	failsFor(routed, styrminv1.ConditionServicesReady, "IngressRoute of traefik.io/v1alpha1")

	old := readCRDs(t, crdFolders[1], "traefik.io_*")
	for _, crd := range old {
		crd.Name = crd.Spec.Names.Plural + "." + traefikGroups[1].Group
		crd.Spec.Group = traefikGroups[1].Group
	}
	installCRDs(t, config, old)
	routed.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	for kind, name := range map[string]string{ingressRouteKind: "web", middlewareKind: "compress"} {
		if !routed.exists(traefikObject(&scope{}, traefikGroups[1].WithKind(kind), name, nil), routed.target, name) {
			t.Errorf("%s %s was not made in Traefik's old group", kind, name)
		}
	}

	checkTakenAway(t, c, routed, old)
	installCRDs(t, config, readCRDs(t, crdFolders[1], "traefik.io_*"))
	routed.roll("i-2", func(*styrminv1.StyrminDeploymentSpec) {})
	eventually(t, "the routes to move to Traefik's newest group", func() error {
		for kind, name := range map[string]string{ingressRouteKind: "web", middlewareKind: "compress"} {
			for i, version := range traefikGroups {
				u := traefikObject(&scope{}, version.WithKind(kind), name, nil)
				if has := routed.exists(u, routed.target, name); has != (i == 0) {
					return fmt.Errorf("%s %s is in %s: %t", kind, name, version.Group, has)
				}
			}
		}
		return nil
	})
	routed.delete()
	routed.waitGone()
	t.Run("case H01: an older CustomResourceDefinition", func(t *testing.T) {
		plain.t = t
		checkOutdatedCRD(t, c, plain)
	})
}

// checkTakenAway uninstalls Traefik and installs it again.
func checkTakenAway(t *testing.T, c client.Client, f *fixture, crds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	for _, crd := range crds {
		if err := c.Delete(t.Context(), crd.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "Traefik to be missed", func() error {
		s := f.get().Status
		if c := apimeta.FindStatusCondition(s.Conditions, styrminv1.ConditionServicesReady); c.Reason != styrminv1.ReasonMissingAPI {
			return errText(c.Reason + ": " + c.Message)
		}
		return nil
	})
	for _, crd := range crds {
		eventually(t, "installing Traefik again", func() error {
			again := crd.DeepCopy()
			again.ResourceVersion, again.UID = "", ""
			return c.Create(t.Context(), again)
		})
	}
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}

// checkOutdatedCRD installs an older CustomResourceDefinition (H01): nothing of a
// rollout is written, the object says why, and it heals with the definition.
func checkOutdatedCRD(t *testing.T, c client.Client, f *fixture) {
	t.Helper()
	if err := checkServedSchema(t.Context(), c); err != nil {
		t.Errorf("the schema of this version: %v", err)
	}
	var full apiextensionsv1.JSONSchemaProps
	change := func(do func(map[string]apiextensionsv1.JSONSchemaProps)) {
		t.Helper()
		eventually(t, "changing the CustomResourceDefinition", func() error {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(t.Context(), client.ObjectKey{Name: crdName}, crd); err != nil {
				return err
			}
			do(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties)
			return c.Update(t.Context(), crd)
		})
	}
	change(func(status map[string]apiextensionsv1.JSONSchemaProps) {
		full = status["instanceId"]
		delete(status, "instanceId")
	})
	want := "the CustomResourceDefinition " + crdName + " lacks status fields of this version (instanceId): apply the one of this version"
	if err := checkServedSchema(t.Context(), c); err == nil || err.Error() != want {
		t.Errorf("the schema of an older version: %v, want %s", err, want)
	}
	review := &startReview{client: c, live: c}
	if problems := review.look(t.Context()); len(problems) != 1 || problems[0] != want {
		t.Errorf("the review found %q, want %s", problems, want)
	}
	eventually(t, "the object to say so", func() error {
		d := f.get()
		if d.Status.InstanceID != "" { // Read with the schema of before.
			d.Spec.InstanceID += "+"
			return errors.Join(errText("the field is still served"), f.client.Update(t.Context(), d))
		}
		ready := apimeta.FindStatusCondition(d.Status.Conditions, styrminv1.ConditionReady)
		if d.Status.Phase != styrminv1.PhaseFailed || ready.Reason != styrminv1.ReasonOutdatedCRD || d.Status.Message != want {
			return fmt.Errorf("it is %s, %s: %s", d.Status.Phase, ready.Reason, d.Status.Message)
		}
		return nil
	})
	change(func(status map[string]apiextensionsv1.JSONSchemaProps) { status["instanceId"] = full })
	f.waitFor(f.get().Spec.InstanceID, styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}

// TestO9MissingAPIsAreAskedForNowAndThen: asking costs the cluster's whole list of
// APIs, and a deployment that needs none of Traefik asks at each reconcile.
func TestO9MissingAPIsAreAskedForNowAndThen(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	mapper := &countingMapper{DefaultRESTMapper: apimeta.NewDefaultRESTMapper(nil)}
	apis := &optionalAPIs{
		mapper: mapper, clock: clock, recheck: time.Minute,
		watched: map[schema.GroupVersionKind]bool{}, missed: map[schema.GroupVersionKind]time.Time{},
	}
	for _, step := range []struct {
		after time.Duration
		asked int
	}{{0, 1}, {29 * time.Second, 1}, {30 * time.Second, 2}, {31 * time.Second, 2}} {
		clock.SetTime(noon.Add(step.after))
		var missing *missingAPIError
		if err := apis.require(traefikGroups[0].WithKind(middlewareKind), traefik); !errors.As(err, &missing) || missing.product != traefik {
			t.Errorf("after %s: %v", step.after, err)
		}
		if mapper.asked != step.asked {
			t.Errorf("after %s it has asked %d times, want %d", step.after, mapper.asked, step.asked)
		}
	}
}

// countingMapper knows no kind.
type countingMapper struct {
	*apimeta.DefaultRESTMapper
	asked int
}

func (m *countingMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*apimeta.RESTMapping, error) {
	m.asked++
	return m.DefaultRESTMapper.RESTMapping(kind, versions...)
}
