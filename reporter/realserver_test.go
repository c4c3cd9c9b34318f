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

// FuzzP6TheServerTakesAnyReportWhole reports objects with nil, empty and anything
// in them to the real server, which must keep every row.
func FuzzP6TheServerTakesAnyReportWhole(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		server, session := sharedServer(t)
		random := rand.New(rand.NewPCG(seed, 4))
		pods, deployments := randomObjects(random)
		table, deployTable := newPodTable(), &deploymentTable{}
		if err := errors.Join(table.update(pods, newComponentIndex(deployments)), deployTable.update(deployments)); err != nil {
			t.Fatal(err)
		}
		session.next()
		podResult, err := session.reportPods(t.Context(), session.clock.Now(), table.report(maxRowBytes))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]RejectedRow{}, podResult.Rejected); diff != "" || len(podResult.Resend) > 0 {
			t.Errorf("rejected pods (-want +got), and asked for again %v:\n%s", podResult.Resend, diff)
		}
		deploymentResult, err := session.reportDeployments(t.Context(), session.clock.Now(), deployTable.digest, deployTable.rows)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]RejectedRow{}, deploymentResult.Rejected); diff != "" || deploymentResult.Resend {
			t.Errorf("rejected deployments (-want +got), and asked for again %t:\n%s", deploymentResult.Resend, diff)
		}
		var kept struct {
			PodStatuses, DeploymentStatuses []struct{ UID string }
		}
		if err := server.Query(t.Context(), `{ podStatuses { uid } deploymentStatuses { uid } }`, nil, &kept); err != nil {
			t.Fatal(err)
		}
		if len(kept.PodStatuses) != len(pods) || len(kept.DeploymentStatuses) != len(deployments) {
			t.Errorf("The server has %d of %d pods and %d of %d deployments",
				len(kept.PodStatuses), len(pods), len(kept.DeploymentStatuses), len(deployments))
		}
	})
}

// randomObjects returns objects with everything random but what the API server
// sees to: that each has a name and a UID of its own.
func randomObjects(random *rand.Rand) ([]*corev1.Pod, []*styrminv1.StyrminDeployment) {
	fill := filler(random)
	pods := make([]*corev1.Pod, random.IntN(5))
	deployments := make([]*styrminv1.StyrminDeployment, random.IntN(4))
	for i := range pods {
		pod := &corev1.Pod{}
		fill.Fill(pod)
		pod.Namespace, pod.Name = fmt.Sprintf("ns-%d", random.IntN(2)), fmt.Sprintf("pod-%d", i)
		pod.UID = types.UID(fmt.Sprintf("pod-%d-%d", random.IntN(3), i))
		pods[i] = pod
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
