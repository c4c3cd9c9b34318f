// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// later are the times after a recording's last line at which it is judged once
// more: what time alone changes shows there.
var later = []time.Duration{30 * time.Second, 70 * time.Second, 10 * time.Minute}

// TestO3ReplayOfRecordedHelmReleases feeds every recorded object to the
// decision, as the informer did, and compares what comes of it at each line.
func TestO3ReplayOfRecordedHelmReleases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordedFolder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("finding the recordings: %d files, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".jsonl"), func(t *testing.T) {
			events := readRecording(t, name)
			got := replay(t, events)
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("reading the expectation: %v (write it with -update, then read it)", err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("decisions differ from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// player carries the status of a StyrminDeployment from one recorded object to
// the next, as reconciles do.
type player struct {
	deployment *styrminv1.StyrminDeployment
	spec       string
	begin      time.Time
	lines      strings.Builder
}

// replay returns one line for each recorded event: when it was seen, what the
// HelmRelease was judged to be, and the status that came of it.
func replay(t *testing.T, events []recordedEvent) string {
	t.Helper()
	p := &player{deployment: &styrminv1.StyrminDeployment{}, begin: events[0].SeenAt}
	for i := range events {
		event := &events[i]
		if event.SeenEvent == "DELETED" {
			fmt.Fprintf(&p.lines, "%s gone\n", p.at(event.SeenAt))
			continue
		}
		p.rollOut(t, event)
		p.judge(t, event, event.SeenAt)
	}
	last := &events[len(events)-1]
	if last.SeenEvent != "DELETED" {
		for _, d := range later {
			p.judge(t, last, last.SeenAt.Add(d))
		}
	}
	return p.lines.String()
}

// rollOut starts a rollout where the recorded spec is a new one. That someone
// suspends the release, or deletes it, is none.
func (p *player) rollOut(t *testing.T, event *recordedEvent) {
	t.Helper()
	spec := event.Spec.DeepCopy()
	spec.Suspend = false
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.spec == string(data) {
		return
	}
	p.spec = string(data)
	d := p.deployment
	d.Generation++
	d.Spec.InstanceID = fmt.Sprintf("i-%d", d.Generation)
	d.Spec.HelmRelease.Timeout = event.Spec.Timeout
	s := newScope(d, event.SeenAt)
	d.Status = startStatus(s)
}

// judge decides as a reconcile does whose other phases are done.
func (p *player) judge(t *testing.T, event *recordedEvent, now time.Time) {
	t.Helper()
	s := newScope(p.deployment, now)
	opts := Options{}.withDefaults()
	verdict := judgeHelmRelease(&event.HelmRelease)
	release := releaseOutcome(s, opts, verdict, lastProgress(s, &event.HelmRelease))
	prerequisites := done("")
	o := observation{prerequisites: &prerequisites, release: &release}
	if release.done() {
		services := done("")
		o.services = &services
	}
	p.deployment.Status, _ = nextStatus(s, opts, o)

	if verdict.state == releaseInstalled && !isConfigured(&event.HelmRelease) {
		t.Errorf("%s: judged as installed, but Helm has other values", p.at(now))
	}
	status := p.deployment.Status
	condition := apimeta.FindStatusCondition(status.Conditions, styrminv1.ConditionHelmReleaseReady)
	fmt.Fprintf(&p.lines, "%s %s g%d %s | %s %s | %s/%s | %s\n",
		p.at(now), status.InstanceID, event.Generation, verdict.state,
		status.Phase, status.DisplayState, condition.Status, condition.Reason, oneLine(status.Message))
}

func (p *player) at(now time.Time) string {
	return fmt.Sprintf("+%.3f", now.Sub(p.begin).Seconds())
}

// isConfigured compares the values of the spec with those of the release that
// Helm has: the digest tells what the conditions may not.
func isConfigured(hr *helmv2.HelmRelease) bool {
	data := []byte{} // Flux hashes no values as nothing.
	if values := hr.GetValues(); len(values) > 0 {
		var err error
		if data, err = yaml.Marshal(values); err != nil {
			return false
		}
	}
	sum := sha256.Sum256(data)
	return latestRelease(hr).ConfigDigest == "sha256:"+hex.EncodeToString(sum[:])
}

func oneLine(message string) string {
	return strings.Join(strings.Fields(message), " ")
}
