// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestR2OnlyANewerSequenceOfTheKindAdvances(t *testing.T) {
	for name, test := range map[string]struct {
		sequence int64
		want     bool
	}{
		"the next":         {43, true},
		"a later one":      {99, true},
		"the same again":   {42, false},
		"an earlier one":   {41, false},
		"the first of all": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			session := Session{PodSequence: 42, DeploymentSequence: NoSequence}
			if got := session.Advance(ReportKindPods, test.sequence); got != test.want {
				t.Errorf("advanced: %v, want %v", got, test.want)
			}
			if want := max(42, test.sequence); session.Sequence(ReportKindPods) != want {
				t.Errorf("the sequence is %d, want %d", session.PodSequence, want)
			}
			if !session.Advance(ReportKindDeployments, 0) {
				t.Error("the other kind's first report is not new")
			}
		})
	}
}

func TestR2AdmitSession(t *testing.T) {
	current, other := "s1", "s2"
	for name, test := range map[string]struct {
		caller  Identity
		current *string
		want    Code
	}{
		"the cluster's own agent":                 {caller: Identity{Role: RoleAgent, ClusterID: "c1"}, current: &current},
		"an admin":                                {caller: Identity{Role: RoleAdmin}, current: &current},
		"anyone, where the server allows it":      {caller: Identity{Role: RoleAnonymous}, current: &current},
		"another cluster's agent":                 {caller: Identity{Role: RoleAgent, ClusterID: "c2"}, current: &current, want: CodeForbidden},
		"a session that was superseded":           {caller: Identity{Role: RoleAdmin}, current: &other, want: CodeSessionSuperseded},
		"a session of a cluster that has no more": {caller: Identity{Role: RoleAdmin}, want: CodeSessionSuperseded},
	} {
		t.Run(name, func(t *testing.T) {
			session := Session{ID: "s1", ClusterID: "c1"}
			err := session.Admit(test.caller, Cluster{ID: "c1", SessionID: test.current})
			if err == nil && test.want != "" || err != nil && CodeOf(err) != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestR3TheAgeOfDataIsNeverNegative(t *testing.T) {
	at := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	if got := (ReportHeader{ObservedAt: at, SentAt: at.Add(3 * time.Second)}).DataAge(); got != 3*time.Second {
		t.Errorf("the age is %s", got)
	}
	if got := (ReportHeader{ObservedAt: at, SentAt: at.Add(-time.Hour)}).DataAge(); got != 0 {
		t.Errorf("the age is %s", got)
	}
}

func TestErrorsKeepTheirCodeThroughWrapping(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want Code
	}{
		"a refusal":         {Errorf(CodeConflict, "taken"), CodeConflict},
		"a wrapped refusal": {fmt.Errorf("creating: %w", InvalidInput("name", "is empty")), CodeInvalidInput},
		"any other error":   {errors.New("connection refused"), CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CodeOf(test.err); got != test.want {
				t.Errorf("the code is %s, want %s", got, test.want)
			}
		})
	}
	if got := InvalidInput("input.name", "is empty").Error(); got != "input.name: is empty" {
		t.Errorf("the message is %q", got)
	}
}

func TestSecretsAreLongRandomAndKeptAsHashes(t *testing.T) {
	first, second := NewSecret(), NewSecret()
	if first == second || CheckSecret(first) != nil || len(first) < 40 {
		t.Errorf("got the secrets %q and %q", first, second)
	}
	if HashSecret(first) == HashSecret(second) {
		t.Error("the hashes do not tell secrets apart")
	}
	const sha256OfABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := HashSecret("abc"); got != sha256OfABC {
		t.Errorf("the hash of abc is %s", got)
	}
	for name, secret := range map[string]string{
		"a short one": "admin", "one with a space": "an admin token of my own", "one with a line break": "an-admin-token-of-my\nown",
		"one that no header carries": "an-admin-token-of-mein-öwn",
	} {
		t.Run(name, func(t *testing.T) {
			if CheckSecret(secret) == nil {
				t.Error("the secret is accepted")
			}
		})
	}
}

func TestCursorsNameARow(t *testing.T) {
	key, err := ParseCursor("after", Cursor("c", "n\x00s", "世界"), 3)
	if err != nil || key[0] != "c" || key[1] != "ns" || key[2] != "世界" {
		t.Errorf("got %q, %v", key, err)
	}
	for name, cursor := range map[string]string{
		"nothing": "", "no base64": "!", "no list": "e30", "another length": Cursor("a", "b"), "too long": Cursor(string(make([]byte, 9000)), "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseCursor("after", cursor, 3); CodeOf(err) != CodeInvalidInput {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestR3AClusterIsKnownAsOfItsOlderHalf(t *testing.T) {
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	report := func(at time.Time, age float64) KindReport { return KindReport{At: &at, DataAgeSeconds: &age} }
	for name, test := range map[string]struct{ pods, deployments, want KindReport }{
		"nothing was reported":                     {},
		"pods alone do not make the cluster known": {pods: report(late, 1)},
		"StyrminDeployments alone do not either":   {deployments: report(late, 1)},
		"the pods are silent":                      {pods: report(early, 1), deployments: report(late, 2), want: report(early, 1)},
		"the StyrminDeployments are silent":        {pods: report(late, 1), deployments: report(early, 2), want: report(early, 2)},
		"the data of the half that came later is the older": {
			pods: report(early, 1), deployments: report(early.Add(time.Second), 9), want: report(early.Add(time.Second), 9),
		},
		"both halves came at the same time": {pods: report(late, 1), deployments: report(late, 2), want: report(late, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, LastReport(test.pods, test.deployments)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestR3AClusterIsSilentFromItsLastReportOrWithoutOneFromItsCreation(t *testing.T) {
	created, last := time.Unix(100, 0), time.Unix(200, 0)
	agent := "manager-0"
	for name, test := range map[string]struct {
		cluster Cluster
		want    *time.Time
	}{
		"no agent has ever come":          {cluster: Cluster{CreatedAt: created}},
		"an agent has not reported whole": {cluster: Cluster{CreatedAt: created, AgentID: &agent}, want: &created},
		"it was reported":                 {cluster: Cluster{CreatedAt: created, AgentID: &agent, LastReportAt: &last}, want: &last},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.cluster.SilentSince()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
