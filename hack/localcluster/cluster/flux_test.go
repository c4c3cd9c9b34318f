// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFluxControllers(t *testing.T) {
	theirs := FluxBinaries{HelmController: "/flux/helm-controller", SourceController: "/flux/source-controller"}
	tests := map[string]struct {
		flux       FluxBinaries
		wantNames  []string
		wantConfig string
	}{
		"our own by default":          {wantNames: []string{"helmrelease-controller"}, wantConfig: "--kubeconfig=/k"},
		"Flux's where they are named": {flux: theirs, wantNames: []string{"source-controller", "helm-controller"}, wantConfig: "KUBECONFIG=/k"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			setup := fluxSetup{
				layout: layout{dir: "/c"}, ports: ports{helmController: 1, sourceController: 2, sourceFiles: 3},
				options: Options{Flux: test.flux}, kubeconfig: "/k",
			}
			specs, err := setup.controllers()
			if err != nil {
				t.Fatal(err)
			}
			names := make([]string, 0, len(specs))
			for _, spec := range specs {
				names = append(names, spec.Name)
				if !slices.Contains(append(spec.Args, spec.Env...), test.wantConfig) {
					t.Errorf("%s lacks %s: %v %v", spec.Name, test.wantConfig, spec.Args, spec.Env)
				}
			}
			if diff := cmp.Diff(test.wantNames, names); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
			last := specs[len(specs)-1].Args
			if !slices.Contains(last, "--health-address=127.0.0.1:1") && !slices.Contains(last, "--health-addr=127.0.0.1:1") {
				t.Errorf("the HelmRelease controller's health is not at the port that is asked: %v", last)
			}
		})
	}
}
