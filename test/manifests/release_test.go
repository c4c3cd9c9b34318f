// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		// Who follows docs/install.md has exported an image of their own.
		command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "IMG=") })
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

	if err := os.WriteFile(changelog, []byte(withRelease(string(content))), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, clone, "git", "-c", "user.name=test", "-c", "user.email=test@styrmin.example", "commit", "--quiet", "--all", "--message=Release 9.8.7")
	run(t, clone, "git", "tag", "v9.8.7")
	if out, err := check(); err != nil {
		t.Errorf("the release is refused: %v\n%s", err, out)
	}
}

// withRelease is the changelog with the section of the version that is released
// here: the one of what is not released yet, or, right after a release, when there
// is none, one of the test's own above the newest.
func withRelease(changelog string) string {
	const unreleased, released = "\n## Unreleased\n", "\n## 9.8.7 - 2027-01-31\n"
	if strings.Contains(changelog, unreleased) {
		return strings.Replace(changelog, unreleased, released, 1)
	}
	return strings.Replace(changelog, "\n## ", released+"\n- A change.\n\n## ", 1)
}

// TestWithRelease: the commit that is tagged has no section of what is not released,
// and TestReleaseCheck has to pass on it too.
func TestWithRelease(t *testing.T) {
	for sentence, test := range map[string]struct{ changelog, want string }{
		"something is to be released": {
			changelog: "# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.2.3 - 2026-12-31\n",
			want:      "# Changelog\n\n## 9.8.7 - 2027-01-31\n\n- New.\n\n## 1.2.3 - 2026-12-31\n",
		},
		"all was just released": {
			changelog: "# Changelog\n\n## 1.2.3 - 2026-12-31\n\n- Old.\n",
			want:      "# Changelog\n\n## 9.8.7 - 2027-01-31\n\n- A change.\n\n## 1.2.3 - 2026-12-31\n\n- Old.\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, withRelease(test.changelog)); diff != "" {
				t.Errorf("the changelog (-want +got):\n%s", diff)
			}
		})
	}
}
