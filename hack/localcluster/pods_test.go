// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/hack/localcluster/binaries"
)

// workloads are one of each kind that the simulated kubelets treat differently.
const workloads = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: good}
spec:
  replicas: 2
  selector: {matchLabels: {app: good}}
  template:
    metadata: {labels: {app: good}}
    spec:
      initContainers:
      - {name: first, image: registry.example/first:1}
      - {name: sidecar, image: registry.example/sidecar:1, restartPolicy: Always}
      - {name: second, image: registry.example/second:1}
      containers: [{name: main, image: registry.example/good:1}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: missing}
spec:
  selector: {matchLabels: {app: missing}}
  template:
    metadata: {labels: {app: missing}}
    spec: {containers: [{name: main, image: registry.example/does-not-exist:1}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: crashing}
spec:
  selector: {matchLabels: {app: crashing}}
  template:
    metadata: {labels: {app: crashing}}
    spec: {containers: [{name: main, image: registry.example/crashes:1}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: complete}
spec:
  template:
    metadata: {labels: {app: complete}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/good:1}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: failing}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: failing}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/fails:1}]}
`

// TestPodsShowTheWordsOfRealOnes reads what kubectl shows of simulated pods.
func TestPodsShowTheWordsOfRealOnes(t *testing.T) {
	t.Parallel()
	l := up(t, t.TempDir())
	k := kubectlFor(t, l)
	seen := k.watchPods(t)
	k.run(t, workloads, "apply", "-f", "-")

	seen.await(t, "good", "0/2 Pending", "0/2 Init:0/3", "0/2 Init:1/3", "1/2 Init:2/3", "1/2 PodInitializing", "2/2 Running 0")
	seen.await(t, "complete", "1/1 Running 0", "0/1 Completed 0")
	seen.await(t, "failing", "1/1 Running 0", "0/1 Error 0")
	seen.await(t, "crashing", "0/1 ContainerCreating 0", "1/1 Running 0", "0/1 Error 0", "0/1 CrashLoopBackOff 0",
		"1/1 Running 1", "0/1 Error 1", "0/1 CrashLoopBackOff 1", "1/1 Running 2")
	seen.await(t, "missing", "0/1 ErrImagePull 0", "0/1 ImagePullBackOff 0", "0/1 ErrImagePull 0")
	k.run(t, "", "rollout", "status", "deployment/good", "--timeout=180s")
	checkRunningPods(t, l)

	k.run(t, "", "set", "image", "deployment/missing", "main=registry.example/good:2")
	k.run(t, "", "set", "image", "deployment/crashing", "main=registry.example/good:2")
	k.run(t, "", "rollout", "status", "deployment/missing", "--timeout=180s")
	k.run(t, "", "rollout", "status", "deployment/crashing", "--timeout=180s")
	seen.await(t, "missing", "0/1 ErrImagePull 0", "1/1 Running 0")
	k.run(t, "", "wait", "--for=condition=Failed", "job/failing", "--timeout=180s")
	k.run(t, "", "delete", "job/complete", "job/failing", "--timeout=180s")
	k.run(t, "", "delete", "deployment/good", "--timeout=180s")
	k.run(t, "", "wait", "--for=delete", "pod", "--selector", "app=good", "--timeout=180s")
	seen.await(t, "good", "2/2 Running 0", "2/2 Terminating 0")
	l.stop(t)
}

// checkRunningPods looks at what controllers read of a pod and kubectl does not show.
func checkRunningPods(t *testing.T, l *localcluster) {
	t.Helper()
	var pods corev1.PodList
	if err := l.client(t).List(t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels{"app": "good"}); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		status := pod.Status
		if status.PodIP == "" || status.HostIP == "" || status.StartTime == nil {
			t.Errorf("pod %s: podIP %q, hostIP %q, startTime %v, want all", pod.Name, status.PodIP, status.HostIP, status.StartTime)
		}
		conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
		for _, c := range status.Conditions {
			conditions[c.Type] = c.Status
		}
		for _, wanted := range []corev1.PodConditionType{
			corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
		} {
			if conditions[wanted] != corev1.ConditionTrue {
				t.Errorf("pod %s: condition %s = %q, want True", pod.Name, wanted, conditions[wanted])
			}
		}
		init := status.InitContainerStatuses
		if len(init) != 3 || init[0].State.Terminated == nil || init[1].State.Running == nil || init[2].State.Terminated == nil {
			t.Errorf("pod %s: init containers %+v, want two completed and the sidecar running", pod.Name, init)
			continue
		}
		if init[2].State.Terminated.FinishedAt.Time.Before(init[0].State.Terminated.FinishedAt.Time) {
			t.Errorf("pod %s: the second init container ended before the first", pod.Name)
		}
	}
}

// kubectl calls the kubectl that was built with the cluster.
type kubectl struct{ path, kubeconfig string }

func kubectlFor(t *testing.T, l *localcluster) kubectl {
	t.Helper()
	store, err := binaries.Open(t.Context(), l.stderr)
	if err != nil {
		t.Fatal(err)
	}
	assets, err := store.EnsureAssets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return kubectl{path: filepath.Join(assets, string(binaries.Kubectl)), kubeconfig: l.kubeconfig}
}

func (k kubectl) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), k.path, append([]string{"--kubeconfig", k.kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// podWords are the lines that kubectl printed of pods, in their order.
type podWords struct{ lines *output }

// watchPods lets kubectl print each change of a pod from now on until the test ends.
func (k kubectl) watchPods(t *testing.T) podWords {
	t.Helper()
	k.run(t, "", "run", "first", "--image=registry.example/good:1", "--restart=Never")
	words := podWords{lines: &output{}}
	command := exec.CommandContext(t.Context(), k.path, "--kubeconfig", k.kubeconfig, "get", "pods", "--watch", "--no-headers")
	command.Stdout = words.lines
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() })
	within(t, eventually, func() string {
		if !strings.HasPrefix(words.lines.String(), "first") {
			return "kubectl does not watch yet"
		}
		return ""
	})
	return words
}

// await waits until the pods of an app have shown these ready counts, states and restarts, one after the other.
func (w podWords) await(t *testing.T, app string, want ...string) {
	t.Helper()
	within(t, eventually, func() string {
		missing := want
		var got []string
		for line := range strings.Lines(w.lines.String()) {
			fields := strings.Fields(line)
			if len(fields) < 4 || !strings.HasPrefix(fields[0], app+"-") {
				continue
			}
			got = append(got, strings.Join(fields[1:4], " "))
			if len(missing) > 0 && strings.HasPrefix(got[len(got)-1], missing[0]) {
				missing = missing[1:]
			}
		}
		if len(missing) > 0 {
			return fmt.Sprintf("pods of %s have shown %q, want %q in this order", app, got, want)
		}
		return ""
	})
}
