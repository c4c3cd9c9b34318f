// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestP2AnAPIServerThatIsNotThere does to one API server, in turn, what cannot
// be done to one that others use.
func TestP2AnAPIServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	env, config := ownEnvironment(t)
	s := newScenario(t, config)
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(config, agentOptions{interval: quick})
	s.shown(startWithin, stays, changes, goes, shop)
	apiServer := env.ControlPlane.GetAPIServer()
	for _, harm := range []struct {
		name string
		do   func()
	}{
		{"it is stopped, and started when nothing could be proven for long", func() {
			before := map[subject]string{stays: "Running", changes: "Running", goes: "Running", shop: isRunning}
			s.must(apiServer.Stop())
			harmedAt := time.Now()
			s.silence(agent, "an API server that was stopped", harmedAt)
			s.stillShows(before, harmedAt)
			s.must(apiServer.Start())
			s.setPod(changes, "CrashLoopBackOff")
			s.setDeployment(failed)
			s.detected("what changed after the start", s.shown(2*returnBound, stays, changes, goes, shop), returnBound)
		}},
		{"it is restarted at once, with its watch cache cold", func() {
			s.must(apiServer.Stop())
			s.must(apiServer.Start())
			s.deletePod(goes)
			s.setPod(changes, "Running")
			s.setDeployment(isRunning)
			s.detected("what changed after the restart", s.shown(2*returnBound, stays, changes, goes, shop), returnBound)
		}},
		{"the definition of StyrminDeployments is deleted with all of them (case H05)", func() {
			definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "styrmindeployments.styrmin.io"}}
			// The deployment was not deleted, its kind was: to the server it stays what
			// it was.
			s.must(s.cluster.Delete(t.Context(), definition))
			harmedAt := time.Now()
			was := agent.metric("unread_total", "styrmindeployments")
			s.eventually(silenceBound, "the kind is left out", func() bool { return agent.metric("unread_total", "styrmindeployments") >= was+5 })
			s.detected("a definition that is gone", time.Since(harmedAt), silenceBound)
			silentSince := time.Now()
			if v, err := look(t.Context(), s.server, s.namespace); err != nil || v.shows(shop) != isRunning {
				s.t.Errorf("The deployment is shown as %s (%v), want %s as before", v.shows(shop), err, isRunning)
			}
			// The other kind is none the worse for it (P3).
			s.setPod(changes, "ErrImagePull")
			s.detected("a pod beside it", s.shown(2*frozenBound, changes), frozenBound)

			s.eventually(time.Minute, "the definition is gone", func() bool {
				return apierrors.IsNotFound(s.cluster.Get(t.Context(), client.ObjectKeyFromObject(definition), definition))
			})
			if n := s.gateway.appliedSince(deployments, silentSince); n > 0 {
				s.t.Errorf("%d times since then the kind was sent", n)
			}
			// With the definition there again, the deployment is really gone.
			s.must(s.truth.does(shop, absent, func() error {
				_, err := envtest.InstallCRDs(s.config, envtest.CRDInstallOptions{Paths: []string{crds}, MaxTime: time.Minute})
				return err
			}))
			s.createDeployment()
			s.setDeployment(failed)
			s.detected("a definition that is there again", s.shown(4*returnBound, shop), 2*returnBound)
		}},
	} {
		s.step(harm.name, harm.do)
	}
}
