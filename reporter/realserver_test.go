// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/internal/serverclient"
	"github.com/styrmin/styrmin/test/system"
)

// realServer is the server's program with a database of its own, which is
// started for the first test that needs it, and the session that they share.
var realServer struct {
	once    sync.Once
	dir     string
	system  *system.System
	session *session
	err     error
}

func sharedServer(t *testing.T) (*system.System, *session) {
	t.Helper()
	realServer.once.Do(func() { realServer.err = startRealServer() })
	if realServer.err != nil {
		t.Fatalf("starting the server: %v", realServer.err)
	}
	return realServer.system, realServer.session
}

func startRealServer() (err error) {
	ctx := context.Background()
	if realServer.dir, err = os.MkdirTemp("", "styrmin-reporter"); err != nil {
		return err
	}
	program := filepath.Join(realServer.dir, "styrmin-server")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "../cmd/server").CombinedOutput(); err != nil {
		return fmt.Errorf("building it: %w\n%s", err, out)
	}
	if realServer.system, err = system.StartServerOnly(ctx, system.Options{Dir: realServer.dir, Server: program}); err != nil {
		return err
	}
	client, err := serverclient.New(realServer.system.ServerURL, realServer.system.AgentTokenFile, "", defaultRequestTimeout)
	if err != nil {
		return err
	}
	realServer.session, err = openSession(ctx, client, clock.RealClock{}, OpenReportSessionInput{ClusterUid: "uid", AgentId: "a", AgentVersion: "v"})
	return err
}

// stopRealServer ends what startRealServer started.
func stopRealServer() error {
	var err error
	if realServer.system != nil {
		err = realServer.system.Stop()
	}
	return errors.Join(err, os.RemoveAll(realServer.dir))
}

// keptPod is a pod as the server has it.
type keptPod struct {
	Namespace string
	PodStatusInput
}

// keptBy returns the pods that the server has, by UID, and how many deployments.
func keptBy(t *testing.T, server *system.System) (pods map[string]keptPod, deployments int) {
	t.Helper()
	var kept struct {
		PodStatuses        []keptPod
		DeploymentStatuses []struct{ UID string }
	}
	if err := server.Query(t.Context(), keptRows, nil, &kept); err != nil {
		t.Fatal(err)
	}
	pods = map[string]keptPod{}
	for _, pod := range kept.PodStatuses {
		pods[pod.Uid] = pod
	}
	return pods, len(kept.DeploymentStatuses)
}

// upToKeptBytes compares texts as far as the server keeps any: names of Kubernetes
// are shorter.
var upToKeptBytes = cmp.Transformer("kept", func(text string) string { return cutText(text, 512) })

const keptRows = `{
	podStatuses {
		uid namespace name node phase status message ready readyContainers totalContainers restarts
		createdAt startedAt deletionRequestedAt ownerKind ownerName component
		containers {
			name kind image ready restarts state reason message exitCode startedAt finishedAt lastReason lastExitCode lastFinishedAt
		}
	}
	deploymentStatuses { uid }
}`

// FuzzP6TheServerTakesAnyReportWhole reports objects with nil, empty and anything
// in them to the real server, which must keep every row: of a whole report, of one
// with the changes to it, and of one that says that nothing has changed.
func FuzzP6TheServerTakesAnyReportWhole(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		server, session := sharedServer(t)
		random := rand.New(rand.NewPCG(seed, 4))
		pods, deployments := randomObjects(random)
		components := newComponentIndex(deployments)
		table, deployTable := newPodTable(), &deploymentTable{}
		report := func(good *corev1.Pod, wantBase bool) {
			t.Helper()
			// The odd ones must not stop its report.
			pods := append(transformed(t, pods), good)
			if err := errors.Join(table.update(pods, components), deployTable.update(deployments)); err != nil {
				t.Fatal(err)
			}
			reports := table.report(maxRowBytes)
			if hasBase := reports[0].base != ""; hasBase != wantBase {
				t.Errorf("%s travels as changes: %t, want %t", reports[0].namespace, hasBase, wantBase)
			}
			session.next()
			podResult, err := session.reportPods(t.Context(), session.clock.Now(), reports)
			if err != nil {
				t.Fatal(err)
			}
			table.acknowledge(reports, podResult.Resend, podResult.Rejected)
			if diff := cmp.Diff([]RejectedRow{}, podResult.Rejected); diff != "" || len(podResult.Resend) > 0 {
				t.Errorf("rejected pods (-want +got), and asked for again %v:\n%s", podResult.Resend, diff)
			}
			deploymentResult, err := session.reportDeployments(t.Context(), session.clock.Now(), deployTable.digest, deployTable.report())
			if err != nil {
				t.Fatal(err)
			}
			deployTable.acknowledge(deploymentResult.Resend || len(deploymentResult.Rejected) > 0)
			if diff := cmp.Diff([]RejectedRow{}, deploymentResult.Rejected); diff != "" || deploymentResult.Resend {
				t.Errorf("rejected deployments (-want +got), and asked for again %t:\n%s", deploymentResult.Resend, diff)
			}
			want := map[string]keptPod{}
			for _, pod := range pods {
				want[string(pod.UID)] = keptPod{pod.Namespace, podRow(pod, components.find(pod.Namespace, pod.Labels))}
			}
			kept, keptDeployments := keptBy(t, server)
			if diff := cmp.Diff(want, kept, upToKeptBytes); diff != "" {
				t.Errorf("pods (-cluster +server):\n%s", diff)
			}
			if keptDeployments != len(deployments) {
				t.Errorf("The server has %d of %d deployments", keptDeployments, len(deployments))
			}
		}
		report(testPod("ns-0", "good"), false)
		pods = changedPods(random, pods)
		report(testPod("ns-0", "good", withVersion(2), withMessage("new")), true)
		report(testPod("ns-0", "good", withVersion(2), withMessage("new")), false)
	})
}

// transformed returns the pods as the informer has them.
func transformed(t *testing.T, pods []*corev1.Pod) []*corev1.Pod {
	t.Helper()
	result := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		transformed, err := podTransform(pod.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		result = append(result, transformed.(*corev1.Pod))
	}
	return result
}

// randomPod returns a pod with everything random but what the API server sees to.
func randomPod(random *rand.Rand, namespace, name, uid string) *corev1.Pod {
	pod := &corev1.Pod{}
	filler(random).Fill(pod)
	pod.Namespace, pod.Name, pod.UID = namespace, name, types.UID(uid)
	pod.ResourceVersion = strconv.FormatUint(random.Uint64(), 10)
	return pod
}

// changedPods returns the pods after some have gone, some were replaced and some
// have changed.
func changedPods(random *rand.Rand, pods []*corev1.Pod) []*corev1.Pod {
	changed := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		switch random.IntN(4) {
		case 0: // It has gone.
		case 1:
			changed = append(changed, randomPod(random, pod.Namespace, pod.Name, string(pod.UID)+"-again"))
		case 2:
			changed = append(changed, randomPod(random, pod.Namespace, pod.Name, string(pod.UID)))
		default:
			changed = append(changed, pod)
		}
	}
	return changed
}

// randomObjects returns objects with everything random but what the API server
// sees to: that each has a name and a UID of its own.
func randomObjects(random *rand.Rand) ([]*corev1.Pod, []*styrminv1.StyrminDeployment) {
	fill := filler(random)
	pods := make([]*corev1.Pod, random.IntN(5))
	deployments := make([]*styrminv1.StyrminDeployment, random.IntN(4))
	for i := range pods {
		pods[i] = randomPod(random, fmt.Sprintf("ns-%d", random.IntN(2)), fmt.Sprintf("pod-%d", i), fmt.Sprintf("pod-%d-%d", random.IntN(3), i))
	}
	for i := range deployments {
		deployment := &styrminv1.StyrminDeployment{}
		fill.Fill(&deployment.ObjectMeta)
		fill.Fill(&deployment.Spec.Components)
		fill.Fill(&deployment.Spec.InstanceID)
		fill.Fill(&deployment.Spec.TargetNamespace)
		fill.Fill(&deployment.Status)
		deployment.Namespace, deployment.Name = "styrmin", fmt.Sprintf("shop-%d", i)
		deployment.UID = types.UID(fmt.Sprintf("shop-%d-%d", random.IntN(3), i))
		deployments[i] = deployment
	}
	return pods, deployments
}
