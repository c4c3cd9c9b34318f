// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/styrmin/styrmin/test/system"
)

// TestReleaseCheck releases the commit that is checked out, in a clone: first too
// early, which is refused for each of the reasons, then as CONTRIBUTING.md says.
func TestReleaseCheck(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "styrmin")
	run(t, repository, "git", "clone", "--quiet", "--no-tags", ".", clone)
	check := func() (string, error) {
		command := exec.CommandContext(t.Context(), "make", "release-check", "KUBECTL="+system.Kubectl(), "VERSION=v9.8.7")
		command.Dir = clone
		out, err := command.CombinedOutput()
		return string(out), err
	}
	changelog := filepath.Join(clone, "CHANGELOG.md")
	content, err := os.ReadFile(changelog)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changelog, append(content, "\nnot committed\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := check()
	if err == nil {
		t.Error("a commit without a tag and a section in CHANGELOG.md may be released")
	}
	for _, missing := range []string{"the commit has the tag v9.8.7", "nothing differs", "CHANGELOG.md has the section '## 9.8.7 - "} {
		if !strings.Contains(out, "MISSING: "+missing) {
			t.Errorf("it is not told that this is missing: %s\n%s", missing, out)
		}
	}

	released := strings.Replace(string(content), "## Unreleased\n", "## 9.8.7 - 2027-01-31\n", 1)
	if err := os.WriteFile(changelog, []byte(released), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, clone, "git", "-c", "user.name=test", "-c", "user.email=test@styrmin.example", "commit", "--quiet", "--all", "--message=Release 9.8.7")
	run(t, clone, "git", "tag", "v9.8.7")
	if out, err := check(); err != nil {
		t.Errorf("the release is refused: %v\n%s", err, out)
	}
}
