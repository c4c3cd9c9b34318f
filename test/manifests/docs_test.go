// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameWhatExists: each target, variable, folder and object that the
// documents for those who install and operate name is there.
func TestDocsNameWhatExists(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]bool{}
	for _, objects := range overlays(t) {
		for _, object := range objects {
			built[strings.ToLower(object.GetKind())+"/"+object.GetName()] = true
		}
	}
	target := regexp.MustCompile("(?:^|`)make ([a-z-]+(?: [a-z-]+)*)")
	variable := regexp.MustCompile(`\b([A-Z][A-Z_]+)=`)
	folder := regexp.MustCompile(`-k (config/[a-z-]+)`)
	object := regexp.MustCompile(`\b(deployment|service)/([a-z-]+)`)
	for _, name := range []string{"install.md", "security.md", "runbook.md"} {
		content, err := os.ReadFile(filepath.Join(repository, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			for _, found := range target.FindAllStringSubmatch(line, -1) {
				for one := range strings.FieldsSeq(found[1]) {
					if !strings.Contains(string(makefile), "\n"+one+":") {
						t.Errorf("%s: the Makefile has no target %s", name, one)
					}
				}
				for _, given := range variable.FindAllStringSubmatch(line, -1) {
					if !strings.Contains(string(makefile), "\n"+given[1]+" ?=") {
						t.Errorf("%s: the Makefile has no variable %s", name, given[1])
					}
				}
			}
			for _, found := range folder.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join(repository, found[1], "kustomization.yaml")); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, found := range object.FindAllStringSubmatch(line, -1) {
				if !built[found[1]+"/"+found[2]] {
					t.Errorf("%s: no manifest has %s", name, found[0])
				}
			}
		}
	}
}
