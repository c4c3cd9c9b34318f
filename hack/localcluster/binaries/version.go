// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// versionVariables are the packages whose variables tell the version of a Kubernetes program.
var versionVariables = []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"}

// versionStamps returns the linker flags that tell the programs of a module their Kubernetes version. Without them they
// take themselves for v0.0.0-master, which kubectl cannot read and charts with a kubeVersion refuse.
func versionStamps(moduleDir string) (string, error) {
	file := filepath.Join(moduleDir, "go.mod")
	content, err := os.ReadFile(file) // #nosec G304 -- a file of this checkout.
	if err != nil {
		return "", fmt.Errorf("read the recipe: %w", err)
	}
	parsed, err := modfile.Parse(file, content, nil)
	if err != nil {
		return "", fmt.Errorf("read the recipe: %w", err)
	}
	var version string
	for _, requirement := range parsed.Require {
		if requirement.Mod.Path == "k8s.io/kubernetes" {
			version = requirement.Mod.Version
		}
	}
	if version == "" {
		return "", nil
	}
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
	var flags strings.Builder
	for _, pkg := range versionVariables {
		for _, variable := range []string{"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor} {
			flags.WriteString(" -X " + pkg + "." + variable)
		}
	}
	return flags.String(), nil
}
