// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/styrmin/styrmin/test/system"
)

const (
	// nobody is the user that the manifests run the programs as.
	nobody = 65532
	// serviceAccountPath is where a pod finds its ServiceAccount's token.
	serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// enterImage runs a program as a container runtime does, in a mount namespace of
// its own: the folder ROOT is its root and can only be read, MOUNTS (source:target)
// are mounted in it, and the user is nobody. It ends when a file can be made in the
// root even so. It writes the program's process id, as this test sees it, to file 3.
//
// The shell stays as root, the first process of a namespace that ends with it: the
// kernel forgets the signal for the parent's death of a process that changes its
// user, so the program itself would outlive a test that is killed.
const enterImage = `
mount --bind "$ROOT" "$ROOT"
for mount in $MOUNTS; do mount --bind "${mount%%:*}" "$ROOT${mount#*:}"; done
mount -o remount,bind,ro "$ROOT"
if touch "$ROOT/written" 2>/dev/null; then echo "the root can be written to" >&2; exit 1; fi
chroot="$(command -v chroot)"
(
	read -r pid rest </proc/self/stat
	echo "$pid" >&3
	exec env -i $VARIABLES "$chroot" --userspec="$NOBODY:$NOBODY" "$ROOT" "$@" 3>&-
) || exit "$?"
`

// pod is the container of a Deployment that runs on this machine.
type pod struct {
	// keeper is the shell of enterImage, which ends with the program.
	keeper  *exec.Cmd
	program *os.Process
	output  *system.Output
	done    chan error
}

// podOptions are what a kubelet knows beside the manifests.
type podOptions struct {
	// volumes are folders with the contents of the pod's volumes, by their names.
	volumes map[string]string
	// serviceAccount is a folder with the token, "" for a pod without one.
	serviceAccount string
	// certificates are the authorities that the image is to trust, "" for its own.
	certificates string
	// args are added to the container's: the last of two flags wins.
	args []string
	env  []string
}

// startPod runs the container of the Deployment among these objects in the image,
// and stops it at the end of the test, when it has to end cleanly.
func startPod(t *testing.T, objects []*unstructured.Unstructured, options podOptions) *pod {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can run a program in another root")
	}
	deployment := decoded[appsv1.Deployment](t, objects, "Deployment")[0]
	spec := deployment.Spec.Template.Spec
	container := spec.Containers[0]
	root := t.TempDir()
	if err := copyPath(image(t), root); err != nil {
		t.Fatal(err)
	}
	var mounts []string
	mount := func(source, target string) {
		if info, err := os.Stat(source); err == nil && info.IsDir() {
			if err := os.MkdirAll(filepath.Join(root, target), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		mounts = append(mounts, source+":"+target)
	}
	for _, volume := range container.VolumeMounts {
		source := options.volumes[volume.Name]
		if source == "" {
			t.Fatalf("the test has nothing for the volume %s", volume.Name)
		}
		mount(source, volume.MountPath)
	}
	if options.serviceAccount != "" {
		mount(options.serviceAccount, serviceAccountPath)
	}
	if options.certificates != "" {
		mount(options.certificates, systemCertificates)
	}
	args := slices.Concat([]string{"-ec", enterImage, "enter"}, container.Command, container.Args, options.args)
	p := &pod{keeper: exec.CommandContext(context.WithoutCancel(t.Context()), "sh", args...), output: &system.Output{}, done: make(chan error, 1)}
	p.keeper.Stdout, p.keeper.Stderr = p.output, p.output
	p.keeper.Env = append(os.Environ(), "ROOT="+root, "MOUNTS="+strings.Join(mounts, " "), fmt.Sprintf("NOBODY=%d", nobody),
		"VARIABLES="+strings.Join(slices.Concat(environment(t, objects, container), options.env), " "))
	if err := p.start(); err != nil {
		t.Fatalf("%v\n%s", err, p.output)
	}
	t.Cleanup(func() { p.stop(t) })
	return p
}

// start starts the keeper, in namespaces of its own, and returns once the program
// is about to be in its place.
func (p *pod) start() error {
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = told.Close() }()
	p.keeper.ExtraFiles = []*os.File{tell}
	p.keeper.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS, Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	started := make(chan error)
	go func() {
		// Linux sends Pdeathsig when the starting thread ends, so it has to last.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.keeper.Start()
		_ = tell.Close()
		started <- err
		if err == nil {
			p.done <- p.keeper.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	var pid int
	if _, err := fmt.Fscanln(told, &pid); err != nil {
		return fmt.Errorf("the program was not started: %w", errors.Join(err, <-p.done))
	}
	p.program, err = os.FindProcess(pid)
	return err
}

// environment is the container's environment, with what it takes from a ConfigMap.
func environment(t *testing.T, objects []*unstructured.Unstructured, container corev1.Container) []string {
	t.Helper()
	data := map[string]map[string]string{}
	for _, config := range decoded[corev1.ConfigMap](t, objects, "ConfigMap") {
		data[config.Name] = config.Data
	}
	var env []string
	for _, variable := range container.Env {
		value := variable.Value
		if variable.ValueFrom != nil {
			from := variable.ValueFrom.ConfigMapKeyRef
			found := false
			if value, found = data[from.Name][from.Key]; !found {
				continue // It is optional, or the API server would have refused it.
			}
		}
		env = append(env, variable.Name+"="+value)
	}
	return env
}

// stop ends the program as a kubelet does.
func (p *pod) stop(t *testing.T) {
	t.Helper()
	if err := p.program.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the program has ended by itself: %v\n%s", err, p.output)
		return
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("the program did not end cleanly: %v\n%s", err, p.output)
		}
	case <-time.After(15 * time.Second):
		_ = p.keeper.Process.Kill()
		t.Errorf("the program has not ended within the time that the manifests give it\n%s", p.output)
	}
}

// wantConfined checks what the kernel knows of the process: it is nobody and may do
// nothing more.
func (p *pod) wantConfined(t *testing.T) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.program.Pid))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"CapEff": "0000000000000000"}
	for _, field := range []string{"Uid", "Gid"} {
		want[field] = fmt.Sprintf("%d %[1]d %[1]d %[1]d", nobody)
	}
	for line := range strings.Lines(string(status)) {
		field, value, _ := strings.Cut(line, ":")
		if wanted, known := want[field]; known && strings.Join(strings.Fields(value), " ") != wanted {
			t.Errorf("%s is %s, want %s", field, strings.TrimSpace(value), wanted)
		}
	}
}

// eventually calls check until it returns nil, and fails the test with its last
// error and what the pods have written.
func eventually(t *testing.T, what string, check func(context.Context) error, pods ...*pod) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last := errors.New("never checked")
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			for _, p := range pods {
				t.Log(p.output)
			}
			t.Fatalf("not within a minute: %s: %v", what, last)
		case <-ticker.C:
		}
	}
}

// probe asks as the kubelet does, which checks no certificate.
func probe(ctx context.Context, client *http.Client, asked *corev1.Probe, address string) error {
	scheme := strings.ToLower(string(asked.HTTPGet.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+asked.HTTPGet.Path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", request.URL, response.Status)
	}
	return nil
}
