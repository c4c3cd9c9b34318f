// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestR15CleanText(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"clean text stays":                          {text: "boom", limit: 10, want: "boom"},
		"NUL goes":                                  {text: "bo\x00om\x00", limit: 10, want: "boom"},
		"invalid bytes are replaced":                {text: "a\xffb", limit: 10, want: "a�b"},
		"text at the limit stays":                   {text: "世界", limit: 6, want: "世界"},
		"text is cut between characters":            {text: "世界", limit: 5, want: "世"},
		"text is cut to nothing rather than halved": {text: "世界", limit: 2, want: ""},
		"no limit cuts nothing":                     {text: strings.Repeat("x", 5000), want: strings.Repeat("x", 5000)},
		"case C02: all of it at once": {
			text: "boom\x00\xff" + strings.Repeat("x", 1016) + "世", limit: 1024, want: "boom�" + strings.Repeat("x", 1016),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CleanText(test.text, test.limit); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzR15CleanText(f *testing.F) {
	f.Add("boom\x00\xff世", 7)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		got := CleanText(text, limit)
		if !utf8.ValidString(got) || strings.Contains(got, "\x00") || limit > 0 && len(got) > limit {
			t.Errorf("CleanText(%q, %d) = %q", text, limit, got)
		}
		if again := CleanText(got, limit); again != got {
			t.Errorf("cleaning again changes %q to %q", got, again)
		}
	})
}

func TestR15CleanPodKeepsTimesThatCanBeStored(t *testing.T) {
	zero, late := time.Time{}, time.Date(9999, time.December, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
	noon := time.Date(2026, time.November, 29, 13, 0, 0, 1999, time.FixedZone("", 3600))
	got := CleanPod(PodStatus{
		CreatedAt: zero, StartedAt: &zero, DeletionRequestedAt: &late,
		Containers: []ContainerStatus{{StartedAt: &noon, FinishedAt: &zero}},
	})
	start := time.Date(2026, time.November, 29, 12, 0, 0, 1000, time.UTC)
	want := PodStatus{
		CreatedAt: minTime, DeletionRequestedAt: &maxTime, Containers: []ContainerStatus{{StartedAt: &start}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pod (-want +got):\n%s", diff)
	}
}

func TestR15CleaningLeavesItsArgumentAlone(t *testing.T) {
	message := "a\x00"
	pod := PodStatus{Message: &message, Containers: []ContainerStatus{{Message: &message}}}
	status := DeploymentStatus{Message: &message, Conditions: []Condition{{Message: &message}}, Components: []ComponentStatus{{Name: message}}}
	_, _ = CleanPod(pod), CleanDeploymentStatus(status)
	if *pod.Message != "a\x00" || *pod.Containers[0].Message != "a\x00" ||
		*status.Conditions[0].Message != "a\x00" || status.Components[0].Name != "a\x00" {
		t.Error("the reported objects were changed")
	}
}
