// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	goversion "go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// systemCertificates are the authorities that this machine trusts.
const systemCertificates = "/etc/ssl/certs/ca-certificates.crt"

// imageVersion is the version that the tests build.
const imageVersion = "v1.2.3"

// builtImage is the root of the image for this machine, once one was asked for, in
// a folder that TestMain removes.
var builtImage func() (string, error)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "styrmin-image")
	if err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
	builtImage = sync.OnceValues(func() (string, error) {
		return buildImage(context.Background(), dir, runtime.GOARCH, imageVersion)
	})
	code := m.Run()
	if err := errors.Join(apiServer.Stop(), os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		code = 1
	}
	os.Exit(code)
}

// image is the root of the image for this machine. It is all tests' and not to be
// changed.
func image(t *testing.T) string {
	t.Helper()
	root, err := builtImage()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// newImage builds the image in a folder of its own.
func newImage(t *testing.T, arch string) string {
	t.Helper()
	root, err := buildImage(t.Context(), t.TempDir(), arch, imageVersion)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// programs are the paths in the image of what it is for.
var programs = []string{"manager", "styrmin-server"}

// TestImageCopiesWhatItsProgramsAreMadeOf compares the Dockerfile with the
// programs' imports: a folder that is missing breaks the build, one too many
// builds the image anew for nothing.
func TestImageCopiesWhatItsProgramsAreMadeOf(t *testing.T) {
	packages, err := goList(t.Context(), "-deps", "./cmd", "./cmd/server")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"go.mod", "go.sum"}
	for _, imported := range packages {
		inner, ours := strings.CutPrefix(imported, "github.com/styrmin/styrmin/")
		if folder, _, _ := strings.Cut(inner, "/"); ours && !slices.Contains(want, folder) {
			want = append(want, folder)
		}
	}
	slices.Sort(want)
	got := dockerfile(t)[0].sources()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the Dockerfile copies (-imports +Dockerfile):\n%s", diff)
	}

	ignore, err := os.ReadFile(filepath.Join(repository, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for line := range strings.Lines(string(ignore)) {
		if entry, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			allowed = append(allowed, entry)
		}
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(got, allowed); diff != "" {
		t.Errorf("what .dockerignore lets through (-Dockerfile +.dockerignore):\n%s", diff)
	}
}

// TestImageIsOfAKnownGo: the builder is one version of Go, not whatever is newest,
// and no older than go.mod asks for.
func TestImageIsOfAKnownGo(t *testing.T) {
	from := dockerfile(t)[0].from
	_, tag, _ := strings.Cut(from, "golang:")
	version, _, _ := strings.Cut(tag, " ")
	if strings.Count(version, ".") != 2 {
		t.Errorf("the builder is %q: want golang: with a version of three numbers", from)
	}
	mod, err := goList(t.Context(), "-m", "-f", "{{.GoVersion}}")
	if err != nil {
		t.Fatal(err)
	}
	if goversion.Compare("go"+version, "go"+mod[0]) < 0 {
		t.Errorf("the builder's Go is %s, go.mod asks for %s", version, mod[0])
	}
}

// TestImageIsTheSameFromTheSameSources builds the image twice, in different
// folders, and compares every byte.
func TestImageIsTheSameFromTheSameSources(t *testing.T) {
	first, second := image(t), newImage(t, runtime.GOARCH)
	for _, program := range programs {
		one, err := os.ReadFile(filepath.Join(first, program))
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(filepath.Join(second, program))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, other) {
			t.Errorf("%s differs between two builds", program)
		}
	}
}

// TestImageIsStatic: there is no loader and no library in the image, so none may be
// asked for.
func TestImageIsStatic(t *testing.T) {
	root := image(t)
	for _, program := range programs {
		file, err := elf.Open(filepath.Join(root, program))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		for _, header := range file.Progs {
			if header.Type == elf.PT_INTERP || header.Type == elf.PT_DYNAMIC {
				t.Errorf("%s is linked dynamically", program)
			}
		}
	}
}

// TestImageHasSourcesForEachArchitecture: all that the programs import, of others
// too, is there for each architecture without C. (make docker-buildx builds them.)
func TestImageHasSourcesForEachArchitecture(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			t.Setenv("CGO_ENABLED", "0")
			t.Setenv("GOOS", "linux")
			t.Setenv("GOARCH", arch)
			lacking, err := goList(t.Context(), "-deps", "-e", "-f", "{{with .Error}}{{.}}{{end}}", "./cmd", "./cmd/server")
			if err != nil {
				t.Fatal(err)
			}
			if len(lacking) > 0 {
				t.Error(strings.Join(lacking, " "))
			}
		})
	}
}

// TestImageTellsItsVersion asks both programs, and reads the image's label.
func TestImageTellsItsVersion(t *testing.T) {
	root := image(t)
	for _, program := range programs {
		out, err := exec.CommandContext(t.Context(), filepath.Join(root, program), "--version").Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), imageVersion) {
			t.Errorf("%s --version says %q", program, out)
		}
	}
	labels := strings.Join(dockerfile(t)[1].all("LABEL"), " ")
	if !strings.Contains(labels, `org.opencontainers.image.version="$VERSION"`) {
		t.Errorf("the image's labels do not tell its version: %s", labels)
	}
}

// TestImageRunsAsNobody compares the image's user with the manifests'.
func TestImageRunsAsNobody(t *testing.T) {
	final := dockerfile(t)[1]
	if final.from != "scratch" {
		t.Errorf("the image is based on %s, want nothing", final.from)
	}
	if diff := cmp.Diff([]string{"65532:65532"}, final.all("USER")); diff != "" {
		t.Errorf("the image's user (-want +got):\n%s", diff)
	}
}
