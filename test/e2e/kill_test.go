// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

const (
	killsNamespace = "kills"
	// killedDeployments are at work while the manager is killed.
	killedDeployments = 10
	// maxSignals is how many changes of state a manager may make at most before it
	// is killed, and idleRound how long it is waited for one.
	maxSignals = 12
	idleRound  = 4 * time.Second
)

// TestO6ManagerKilledAtAnyTime kills the manager's process with SIGKILL again and
// again while ten deployments are created, upgraded and deleted. All end as
// declared, with nothing orphaned. KILLS says how often (30), KILL_SEED repeats a
// run.
func TestO6ManagerKilledAtAnyTime(t *testing.T) {
	kills, seed := number(t, "KILLS", 30), number(t, "KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("KILLS=%d KILL_SEED=%d", kills, seed)
	k := newKiller(t, rand.New(rand.NewPCG(seed, seed)))
	if err := sys.ManagerProcess().Stop(); err != nil {
		t.Fatal(err)
	}
	afterwards(t, "the manager runs", func(ctx context.Context) error {
		select {
		case <-sys.ManagerProcess().Done():
			return sys.StartManager(ctx)
		default:
			return nil
		}
	})
	for i := range killedDeployments {
		k.create(i)
	}
	for i := range kills {
		switch i {
		case kills / 3:
			for i := range killedDeployments {
				k.upgrade(i)
			}
		case 2 * kills / 3:
			for i := range killedDeployments / 2 {
				k.delete(i)
			}
		}
		k.runAndKill()
	}
	if err := sys.StartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range killedDeployments {
		if i < killedDeployments/2 {
			continue
		}
		eventually(t, 3*time.Minute, fmt.Sprintf("deployment %d is as declared", i), k.isAsDeclared(i))
		k.delete(i)
	}
	eventually(t, 3*time.Minute, "nothing is left", k.nothingIsLeft)
}

// number reads a number from the environment.
func number(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// killer runs managers and kills them when what they do to the deployments says so.
type killer struct {
	t       *testing.T
	random  *rand.Rand
	changes watch.Interface
	log     *os.File
	// tokens are the generated values that were seen, by deployment: they are made
	// once.
	tokens map[string]string
}

func newKiller(t *testing.T, random *rand.Rand) *killer {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", sys.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: sys.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: killsNamespace}}
	if err := sys.Client.Create(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	removeAfterwards(t, home)
	changes, err := c.Watch(t.Context(), &styrminv1.StyrminDeploymentList{}, client.InNamespace(killsNamespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	log, err := os.Create(filepath.Join(t.TempDir(), "manager.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return &killer{t: t, random: random, changes: changes, log: log, tokens: map[string]string{}}
}

// runAndKill starts a manager and kills it after some of the changes that it
// makes, or when it has no more to make.
func (k *killer) runAndKill() {
	k.t.Helper()
	manager := exec.CommandContext(k.t.Context(), managerProgram,
		"--kubeconfig", sys.ManagerKubeconfig(), "--server-address", sys.ServerURL, "--token-file", sys.AgentTokenFile,
		"--health-probe-bind-address", "0")
	manager.Stdout, manager.Stderr = k.log, k.log
	if err := manager.Start(); err != nil {
		k.t.Fatal(err)
	}
	idle := time.NewTimer(idleRound)
	defer idle.Stop()
	for left := k.random.IntN(maxSignals) + 1; left > 0; left-- {
		select {
		case _, open := <-k.changes.ResultChan():
			if !open {
				k.t.Fatal("the watch for changes has ended")
			}
			idle.Reset(idleRound)
		case <-idle.C:
			left = 0
		}
	}
	if err := manager.Process.Kill(); err != nil {
		k.t.Errorf("the manager ended by itself: %v", err)
	}
	if err := manager.Wait(); err == nil {
		k.t.Error("the manager ended by itself, cleanly")
	}
}

func killedName(i int) string { return fmt.Sprintf("shop-%d", i) }

func (k *killer) create(i int) {
	k.t.Helper()
	if err := sys.Client.Create(k.t.Context(), smallShop(killsNamespace, "kills", killedName(i))); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killer) upgrade(i int) {
	k.t.Helper()
	const patch = `{"spec": {"instanceId": "second", "helmRelease": {"values": {"server": {"image": "registry.example/shop-server:2"}}},
		"services": [{"name": "api", "component": "server", "port": 80}]}}`
	d := &styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: killsNamespace, Name: killedName(i)}}
	if err := sys.Client.Patch(k.t.Context(), d, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		k.t.Fatal(err)
	}
	token := &corev1.Secret{}
	err := sys.Client.Get(k.t.Context(), client.ObjectKey{Namespace: "kills-" + killedName(i), Name: "token"}, token)
	if client.IgnoreNotFound(err) != nil {
		k.t.Fatal(err)
	}
	k.tokens[killedName(i)] = string(token.Data["token"])
}

func (k *killer) delete(i int) {
	k.t.Helper()
	d := &styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: killsNamespace, Name: killedName(i)}}
	if err := sys.Client.Delete(k.t.Context(), d); err != nil {
		k.t.Fatal(err)
	}
}

// isAsDeclared checks the status of a deployment and what is in its namespace.
func (k *killer) isAsDeclared(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		d := &styrminv1.StyrminDeployment{}
		if err := sys.Client.Get(ctx, client.ObjectKey{Namespace: killsNamespace, Name: killedName(i)}, d); err != nil {
			return err
		}
		s := d.Status
		if s.InstanceID != "second" || s.ObservedGeneration != d.Generation || s.DisplayState != styrminv1.DisplayStateRunning {
			return fmt.Errorf("it is %s, %s, %s: %s", s.InstanceID, s.Phase, s.DisplayState, s.Message)
		}
		pods, services, token := &corev1.PodList{}, &corev1.ServiceList{}, &corev1.Secret{}
		key := client.ObjectKey{Namespace: d.TargetNamespace(), Name: "token"}
		err := errors.Join(sys.Client.List(ctx, pods, client.InNamespace(key.Namespace)), sys.Client.Get(ctx, key, token),
			sys.Client.List(ctx, services, client.InNamespace(key.Namespace), client.HasLabels{styrminv1.LabelDeploymentID}))
		if err != nil {
			return err
		}
		var got []string
		for i := range pods.Items {
			got = append(got, pods.Items[i].Spec.Containers[0].Image)
		}
		for i := range services.Items {
			got = append(got, services.Items[i].Name)
		}
		if diff := cmp.Diff([]string{"registry.example/shop-server:2", "api"}, got); diff != "" {
			return fmt.Errorf("pods and services differ (-want +got):\n%s", diff)
		}
		if before := k.tokens[d.Name]; before != "" && before != string(token.Data["token"]) {
			return errors.New("the generated secret is another one")
		}
		return nil
	}
}

// nothingIsLeft checks that all that the operator made is gone: it is in
// namespaces that it made, and those carry its label.
func (k *killer) nothingIsLeft(ctx context.Context) error {
	for i := range killedDeployments {
		for _, object := range []client.Object{
			&styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: killsNamespace, Name: killedName(i)}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kills-" + killedName(i)}},
		} {
			err := sys.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
			if err == nil {
				return fmt.Errorf("%T %s is still there", object, object.GetName())
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	namespaces := &corev1.NamespaceList{}
	if err := sys.Client.List(ctx, namespaces, client.HasLabels{styrminv1.LabelDeploymentID}); err != nil {
		return err
	}
	for i := range namespaces.Items {
		if owner := namespaces.Items[i].Annotations[styrminv1.AnnotationOwner]; strings.HasPrefix(owner, killsNamespace+"/") {
			return fmt.Errorf("namespace %s of %s is still there", namespaces.Items[i].Name, owner)
		}
	}
	return nil
}
