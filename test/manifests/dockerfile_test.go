// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is the folder of the sources.
const repository = "../.."

// instruction is a line of a Dockerfile, with those that continue it.
type instruction struct{ name, args string }

// stage is a part of a Dockerfile that begins with FROM.
type stage struct {
	from         string
	instructions []instruction
}

// readDockerfile reads the stages of the Dockerfile. It knows the instructions
// that ours uses, and refuses others.
func readDockerfile() ([]stage, error) {
	content, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	var stages []stage
	for line := range strings.SplitSeq(strings.ReplaceAll(string(content), "\\\n", ""), "\n") {
		name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "", "#":
		case "FROM":
			stages = append(stages, stage{from: args})
		case "ARG", "WORKDIR", "COPY", "ENV", "RUN", "LABEL", "USER", "ENTRYPOINT":
			last := &stages[len(stages)-1]
			last.instructions = append(last.instructions, instruction{name, args})
		default:
			return nil, fmt.Errorf("the Dockerfile has %s, which this test does not know", name)
		}
	}
	return stages, nil
}

// dockerfile is the stages of the Dockerfile.
func dockerfile(t *testing.T) []stage {
	t.Helper()
	stages, err := readDockerfile()
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// all returns the arguments of the instructions with that name.
func (s stage) all(name string) []string {
	var args []string
	for _, i := range s.instructions {
		if i.name == name {
			args = append(args, i.args)
		}
	}
	return args
}

// sources are the files and folders that the build stage copies from the
// repository.
func (s stage) sources() []string {
	var sources []string
	for _, args := range s.all("COPY") {
		fields := strings.Fields(args)
		sources = append(sources, fields[:len(fields)-1]...)
	}
	return sources
}

// buildImage does what the Dockerfile says, on this machine and with its Go, and
// returns the folder below dir that is the image's root.
func buildImage(ctx context.Context, dir, arch, version string) (string, error) {
	stages, err := readDockerfile()
	if err != nil {
		return "", err
	}
	if len(stages) != 2 {
		return "", fmt.Errorf("the Dockerfile has %d stages, want one that builds and one that runs", len(stages))
	}
	out, root := filepath.Join(dir, "out"), filepath.Join(dir, "root")
	variables := map[string]string{"TARGETOS": "linux", "TARGETARCH": arch, "VERSION": version}
	if err := stages[0].run(ctx, filepath.Join(dir, "src"), out, variables); err != nil {
		return "", err
	}
	for _, args := range stages[1].all("COPY") {
		from, target, _ := strings.Cut(strings.TrimPrefix(args, "--from=build "), " ")
		switch from {
		case "/out/":
			err = copyPath(out, filepath.Join(root, target))
		case systemCertificates:
			err = copyPath(from, filepath.Join(root, target, filepath.Base(from)))
		default:
			err = fmt.Errorf("the image holds %s, which this test does not know", from)
		}
		if err != nil {
			return "", err
		}
	}
	return root, nil
}

// run carries out the instructions of the build stage in the folder src. What they
// write to /out/ goes to out.
func (s stage) run(ctx context.Context, src, out string, variables map[string]string) error {
	var env []string
	for _, i := range s.instructions {
		switch i.name {
		case "ARG":
			name, value, _ := strings.Cut(i.args, "=")
			if variables[name] == "" {
				variables[name] = value
			}
			env = append(env, name+"="+variables[name])
		case "ENV":
			for _, assignment := range splitWords(i.args) {
				env = append(env, os.Expand(assignment, func(name string) string { return variables[name] }))
			}
		case "COPY":
			fields := strings.Fields(i.args)
			for _, source := range fields[:len(fields)-1] {
				if err := copyPath(filepath.Join(repository, source), filepath.Join(src, source)); err != nil {
					return err
				}
			}
		case "RUN":
			run := exec.CommandContext(ctx, "sh", "-ec", strings.ReplaceAll(i.args, "/out/", out+"/"))
			run.Dir, run.Env = src, append(os.Environ(), env...)
			if output, err := run.CombinedOutput(); err != nil {
				return fmt.Errorf("RUN %s: %w\n%s", i.args, err, output)
			}
		}
	}
	return nil
}

// splitWords splits assignments at the blanks between them, and drops the quotes
// around values that hold blanks.
func splitWords(line string) []string {
	quoted := false
	words := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], `"`, "")
	}
	return words
}

// copyPath copies a file, or a folder with all that is in it.
func copyPath(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(target, os.DirFS(source))
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, content, info.Mode())
}

// goList runs go list in the repository and returns its lines.
func goList(ctx context.Context, args ...string) ([]string, error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	list.Dir = repository
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	return strings.Fields(string(out)), nil
}
