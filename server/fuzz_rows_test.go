// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzR1Rows lets a cluster change at random and reports it in every way that
// the contract allows, with reports that are lost, repeated, late and not whole.
// After each complete report that the server asks nothing about, its rows are
// exactly the cluster, but for what the report held in a form that cannot be
// read: of that they are what they were (R15). A report that is not newer changes
// nothing (R2), and one that is not complete deletes nothing (R1).
func FuzzR1Rows(f *testing.F) {
	for i := range 40 {
		var moves []byte
		for block := sha256.Sum256([]byte{byte(i)}); len(moves) < 512; block = sha256.Sum256(block[:]) {
			moves = append(moves, block[:]...)
		}
		f.Add(moves)
	}
	f.Fuzz(func(t *testing.T, moves []byte) {
		moves = moves[:min(len(moves), maxMoves)]
		g := &rowGame{
			game: game{world: &world{t: t}, moves: moves}, cluster: map[string]map[string]string{},
			acknowledged: map[string]knownNamespace{}, rows: map[PodKey]string{}, digests: NamespaceDigests{},
			session: Session{PodSequence: NoSequence, DeploymentSequence: NoSequence},
		}
		for len(g.moves) > 0 && !t.Failed() {
			for range g.draw(4) {
				g.change()
			}
			g.reportPods()
			g.reportObjects()
		}
	})
}

// knownNamespace is what the agent remembers that the server has acknowledged.
type knownNamespace struct {
	digest string
	pods   map[string]string
}

// rowGame is a cluster of pods and objects, the agent's memory of what was
// acknowledged, and the server's rows.
type rowGame struct {
	game
	// cluster holds the UIDs of the pods by namespace and name. The pods of
	// namespace n0 stand for StyrminDeployments, too.
	cluster      map[string]map[string]string
	acknowledged map[string]knownNamespace
	sequence     int64
	made         int

	session Session
	rows    map[PodKey]string
	digests NamespaceDigests
	objects []DeploymentStatus
	// late is an earlier report that may come again.
	late *PodReport
}

// change makes, replaces or removes a pod.
func (g *rowGame) change() {
	namespace, name := fmt.Sprintf("n%d", g.draw(3)), fmt.Sprintf("p%d", g.draw(4))
	if g.draw(3) == 0 {
		delete(g.cluster[namespace], name)
		if len(g.cluster[namespace]) == 0 {
			delete(g.cluster, namespace)
		}
		return
	}
	if g.cluster[namespace] == nil {
		g.cluster[namespace] = map[string]string{}
	}
	g.made++
	g.cluster[namespace][name] = fmt.Sprintf("u%d", g.made)
}

func (g *rowGame) pods(namespace string, names []string) []PodStatus {
	pods := make([]PodStatus, 0, len(names))
	for _, name := range names {
		pod := PodStatus{Name: name, UID: g.cluster[namespace][name]}
		if g.draw(16) == 1 {
			pod.UID = ""
		}
		pods = append(pods, pod)
	}
	return pods
}

// send renders a namespace in one of the three ways.
func (g *rowGame) send(namespace string) NamespacePods {
	pods := g.cluster[namespace]
	sent := NamespacePods{Namespace: namespace, Digest: fmt.Sprint(pods)}
	known, isKnown := g.acknowledged[namespace]
	switch way := g.draw(3); {
	case isKnown && way == 0 && known.digest == sent.Digest:
		return sent
	case isKnown && way == 1:
		sent.Base, sent.Pods = &known.digest, []PodStatus{}
		for name, uid := range known.pods {
			if pods[name] != uid {
				sent.Gone = append(sent.Gone, uid)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			if known.pods[name] != pods[name] {
				sent.Pods = append(sent.Pods, g.pods(namespace, []string{name})...)
			}
		}
		return sent
	}
	sent.Pods = g.pods(namespace, slices.Sorted(maps.Keys(pods)))
	return sent
}

func (g *rowGame) reportPods() {
	g.sequence++
	report := PodReport{Header: ReportHeader{Sequence: g.sequence, Complete: g.draw(5) > 0}}
	for _, namespace := range slices.Sorted(maps.Keys(g.cluster)) {
		if report.Header.Complete || g.draw(2) == 0 {
			report.Namespaces = append(report.Namespaces, g.send(namespace))
		}
	}
	if g.draw(8) == 0 {
		return // lost on the way
	}
	before := maps.Clone(g.rows)
	resend := g.apply(report)
	if g.late != nil && g.draw(3) == 0 {
		g.apply(*g.late)
	}
	g.late = &report
	if report.Header.Complete && len(resend) == 0 {
		g.wantRows(before, report)
	}
	if g.draw(8) == 0 {
		return // the answer is lost on its way back
	}
	g.learn(report, resend)
}

// learn keeps what the server's answer says that it has.
func (g *rowGame) learn(report PodReport, resend []string) {
	for _, sent := range report.Namespaces {
		if !report.Header.Complete || slices.Contains(resend, sent.Namespace) {
			delete(g.acknowledged, sent.Namespace)
			continue
		}
		g.acknowledged[sent.Namespace] = knownNamespace{sent.Digest, maps.Clone(g.cluster[sent.Namespace])}
	}
}

// apply does with a report what the store does, and returns what it asks for.
func (g *rowGame) apply(report PodReport) []string {
	before := maps.Clone(g.rows)
	if !g.session.Advance(ReportKindPods, report.Header.Sequence) {
		return nil
	}
	if report.Header.Sequence != g.sequence {
		g.t.Errorf("report %d was applied after report %d", report.Header.Sequence, g.sequence)
	}
	stored := map[PodKey]StoredPod{}
	scope := report.Scope(g.digests)
	for key, uid := range g.rows {
		if slices.Contains(scope.Whole, key.Namespace) || slices.Contains(scope.Named, key) {
			stored[key] = StoredPod{g.fingerprint(key, uid)}
		}
	}
	changes, err := report.Apply(g.digests, stored)
	if err != nil {
		g.t.Fatal(err)
	}
	for namespace, digest := range changes.Digests {
		g.digests[namespace] = digest
	}
	maps.DeleteFunc(g.rows, func(key PodKey, uid string) bool {
		return slices.Contains(changes.DropNamespaces, key.Namespace) || slices.Contains(changes.Deletes, key) ||
			slices.Contains(changes.Gone, GonePod{key.Namespace, uid})
	})
	for _, namespace := range changes.DropNamespaces {
		delete(g.digests, namespace)
	}
	for _, pod := range changes.Upserts {
		key := PodKey{pod.Namespace, pod.Name}
		if before[key] == pod.UID {
			g.t.Errorf("the unchanged row %v was written", key)
		}
		g.rows[key] = pod.UID
	}
	for key := range before {
		if _, kept := g.rows[key]; !kept && !report.Header.Complete {
			g.t.Errorf("an incomplete report deleted %v", key)
		}
	}
	return changes.Resend
}

func (g *rowGame) fingerprint(key PodKey, uid string) PodFingerprint {
	fingerprint, err := FingerprintPod(CleanPod(PodStatus{Namespace: key.Namespace, Name: key.Name, UID: uid}))
	if err != nil {
		g.t.Fatal(err)
	}
	return fingerprint
}

// wantRows: the rows are exactly the cluster, and of what could not be read those
// of before.
func (g *rowGame) wantRows(before map[PodKey]string, report PodReport) {
	want := map[PodKey]string{}
	for namespace, pods := range g.cluster {
		for name, uid := range pods {
			want[PodKey{namespace, name}] = uid
		}
	}
	for _, sent := range report.Namespaces {
		for _, pod := range sent.Pods {
			key := PodKey{sent.Namespace, pod.Name}
			if pod.UID != "" {
				continue
			}
			delete(want, key)
			if uid, had := before[key]; had && !slices.Contains(sent.Gone, uid) {
				want[key] = uid
			}
		}
	}
	if diff := cmp.Diff(want, g.rows); diff != "" {
		g.t.Errorf("the rows after a complete report (-cluster +rows):\n%s", diff)
	}
}

// reportObjects does the same with the StyrminDeployments, which travel whole.
func (g *rowGame) reportObjects() {
	report := DeploymentReport{Header: ReportHeader{Sequence: g.sequence, Complete: g.draw(4) > 0}, Deployments: []DeploymentStatus{}}
	for _, name := range slices.Sorted(maps.Keys(g.cluster["n0"])) {
		if report.Header.Complete || g.draw(2) == 0 {
			object := DeploymentStatus{Namespace: "n0", Name: name, UID: g.cluster["n0"][name], DeploymentID: g.cluster["n0"][name]}
			if g.draw(16) == 1 {
				object.UID = ""
			}
			report.Deployments = append(report.Deployments, object)
		}
	}
	rows, err := report.Apply(g.objects, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	after := map[ObjectKey]DeploymentStatus{}
	before := map[string]string{}
	for _, object := range g.objects {
		after[object.Key()] = object
		before[object.Name] = object.UID
	}
	for _, gone := range rows.Deletes {
		delete(after, gone.Key())
	}
	for _, written := range rows.Upserts {
		after[written.Key()] = written
	}
	if len(rows.Deletes) > 0 && !report.Header.Complete {
		g.t.Errorf("an incomplete report deleted %v", rows.Deletes)
	}
	g.objects = slices.Collect(maps.Values(after))
	if !report.Header.Complete {
		return
	}
	got := map[string]string{}
	for _, object := range g.objects {
		got[object.Name] = object.UID
	}
	want := map[string]string{}
	for _, object := range report.Deployments {
		if object.UID != "" {
			want[object.Name] = object.UID
		} else if uid := before[object.Name]; uid == object.DeploymentID {
			want[object.Name] = uid // It is not another deployment's under its name.
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Errorf("the objects after a complete report (-cluster +rows):\n%s", diff)
	}
}
