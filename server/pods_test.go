// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func digests(pairs ...string) NamespaceDigests {
	digests := NamespaceDigests{}
	for i := 0; i < len(pairs); i += 2 {
		digest := pairs[i+1]
		digests[pairs[i]] = &digest
	}
	return digests
}

func storedPods(t *testing.T, pods ...PodStatus) map[PodKey]StoredPod {
	t.Helper()
	stored := map[PodKey]StoredPod{}
	for _, pod := range pods {
		fingerprint, err := FingerprintPod(CleanPod(pod))
		if err != nil {
			t.Fatal(err)
		}
		stored[PodKey{pod.Namespace, pod.Name}] = StoredPod{Fingerprint: fingerprint}
	}
	return stored
}

// TestR1PodReport decides what reports change in a cluster whose namespace "a"
// holds the pods x and y at digest a1, and whose namespace "b" holds z at b1.
func TestR1PodReport(t *testing.T) {
	podIn := func(namespace, name, uid string) PodStatus {
		return PodStatus{Namespace: namespace, Name: name, UID: uid, Phase: "Running", CreatedAt: minTime}
	}
	x, y, z := podIn("a", "x", "ux"), podIn("a", "y", "uy"), podIn("b", "z", "uz")
	base := func(digest string) *string { return &digest }
	type changes struct {
		Upserts []string
		PodChanges
	}
	for name, test := range map[string]struct {
		incomplete bool
		namespaces []NamespacePods
		want       changes
	}{
		"an empty complete report drops every namespace": {
			want: changes{PodChanges: PodChanges{DropNamespaces: []string{"a", "b"}}},
		},
		"an empty incomplete report changes nothing": {incomplete: true},
		"a namespace in full loses the pods that it does not hold": {
			namespaces: []NamespacePods{{Namespace: "a", Digest: "a2", Pods: []PodStatus{x}}, {Namespace: "b", Digest: "b1"}},
			want:       changes{PodChanges: PodChanges{Deletes: []PodKey{{"a", "y"}}, Digests: digests("a", "a2")}},
		},
		"a namespace in full without pods is empty": {
			namespaces: []NamespacePods{{Namespace: "a", Digest: "a2", Pods: []PodStatus{}}, {Namespace: "b", Digest: "b1"}},
			want:       changes{PodChanges: PodChanges{Deletes: []PodKey{{"a", "x"}, {"a", "y"}}, Digests: digests("a", "a2")}},
		},
		"a new pod under an old name is written over the row": {
			namespaces: []NamespacePods{
				{Namespace: "a", Digest: "a2", Pods: []PodStatus{podIn("a", "x", "new"), y}}, {Namespace: "b", Digest: "b1"},
			},
			want: changes{Upserts: []string{"a/x new"}, PodChanges: PodChanges{Digests: digests("a", "a2")}},
		},
		"an incomplete report writes rows, deletes none and forgets the digest": {
			incomplete: true,
			namespaces: []NamespacePods{{Namespace: "a", Digest: "a2", Pods: []PodStatus{podIn("a", "w", "uw")}}},
			want:       changes{Upserts: []string{"a/w uw"}, PodChanges: PodChanges{Digests: NamespaceDigests{"a": nil}}},
		},
		"an incomplete report does not believe that pods are gone": {
			incomplete: true,
			namespaces: []NamespacePods{{Namespace: "a", Digest: "a2", Base: base("a1"), Gone: []string{"ux"}}},
			want:       changes{PodChanges: PodChanges{Digests: NamespaceDigests{"a": nil}}},
		},
		"changes to the stored digest apply": {
			namespaces: []NamespacePods{
				{Namespace: "a", Digest: "a2", Base: base("a1"), Pods: []PodStatus{podIn("a", "w", "uw")}, Gone: []string{"ux"}},
				{Namespace: "b", Digest: "b1"},
			},
			want: changes{Upserts: []string{"a/w uw"}, PodChanges: PodChanges{
				Gone: []GonePod{{"a", "ux"}}, Digests: digests("a", "a2"),
			}},
		},
		"changes to another digest are asked for in full": {
			namespaces: []NamespacePods{
				{Namespace: "a", Digest: "a3", Base: base("a2"), Pods: []PodStatus{podIn("a", "w", "uw")}, Gone: []string{"ux"}},
				{Namespace: "b", Digest: "b1"},
			},
			want: changes{PodChanges: PodChanges{Resend: []string{"a"}}},
		},
		"a digest that is not the stored one is asked for in full": {
			namespaces: []NamespacePods{{Namespace: "a", Digest: "a9"}, {Namespace: "b", Digest: "b1"}, {Namespace: "c", Digest: "c1"}},
			want:       changes{PodChanges: PodChanges{Resend: []string{"a", "c"}}},
		},
		"changes to a digest that was never stored are asked for in full": {
			incomplete: true,
			namespaces: []NamespacePods{{Namespace: "c", Digest: "c2", Base: base("c1"), Pods: []PodStatus{podIn("c", "w", "uw")}}},
			want:       changes{PodChanges: PodChanges{Resend: []string{"c"}}},
		},
		"a pod that cannot be read is there: its row stays, and the namespace is wanted again (R15)": {
			namespaces: []NamespacePods{{Namespace: "a", Digest: "a2", Pods: []PodStatus{podIn("a", "x", "")}}, {Namespace: "b", Digest: "b1"}},
			want: changes{PodChanges: PodChanges{
				Rejected: []RejectedRow{{"a", "x", "the pod has no uid"}}, Deletes: []PodKey{{"a", "y"}}, Digests: NamespaceDigests{"a": nil},
			}},
		},
		"a pod without a name may be any of its namespace (R15)": {
			namespaces: []NamespacePods{
				{Namespace: "a", Digest: "a2", Pods: []PodStatus{podIn("a", "", "u"), podIn("a", "w", "uw")}}, {Namespace: "b", Digest: "b2", Pods: []PodStatus{}},
			},
			want: changes{Upserts: []string{"a/w uw"}, PodChanges: PodChanges{
				Rejected: []RejectedRow{{"a", "", "the pod has no name"}}, Deletes: []PodKey{{"b", "z"}},
				Digests: NamespaceDigests{"a": nil, "b": ptr("b2")},
			}},
		},
		"a namespace without a name may be any that is not listed (R15)": {
			namespaces: []NamespacePods{{Digest: "1", Pods: []PodStatus{x}}, {Namespace: "b", Digest: "b1"}},
			want:       changes{PodChanges: PodChanges{Rejected: []RejectedRow{{Reason: "the namespace has no name"}}}},
		},
		"a namespace without a name is rejected alone": {
			incomplete: true,
			namespaces: []NamespacePods{
				{Digest: "1", Pods: []PodStatus{podIn("", "w", "uw")}}, {Namespace: "b", Digest: "b2", Pods: []PodStatus{z}},
			},
			want: changes{PodChanges: PodChanges{
				Rejected: []RejectedRow{{Reason: "the namespace has no name"}}, Digests: NamespaceDigests{"b": nil},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			report := PodReport{Header: ReportHeader{Complete: !test.incomplete}, Namespaces: test.namespaces}
			got, err := report.Apply(digests("a", "a1", "b", "b1"), storedPods(t, x, y, z))
			if err != nil {
				t.Fatal(err)
			}
			brief := changes{PodChanges: got}
			for _, pod := range got.Upserts {
				brief.Upserts = append(brief.Upserts, pod.Namespace+"/"+pod.Name+" "+pod.UID)
			}
			brief.PodChanges.Upserts = nil
			if diff := cmp.Diff(test.want, brief, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestR1OnlyTheRowsInScopeAreRead(t *testing.T) {
	base := "a1"
	report := PodReport{Namespaces: []NamespacePods{
		{Namespace: "a", Digest: "a2", Base: &base, Pods: []PodStatus{{Name: "x"}}},
		{Namespace: "b", Digest: "b2", Pods: []PodStatus{{Name: "y"}}},
		{Namespace: "c", Digest: "c1"},
		{Namespace: "new", Digest: "n1", Pods: []PodStatus{{Name: "z"}}},
	}}
	want := PodScope{Whole: []string{"b"}, Named: []PodKey{{"a", "x"}}}
	if diff := cmp.Diff(want, report.Scope(digests("a", "a1", "b", "b1", "c", "c1"))); diff != "" {
		t.Errorf("the scope (-want +got):\n%s", diff)
	}
}

func TestR1AFingerprintSeesEveryReportedField(t *testing.T) {
	base := PodStatus{Name: "x", UID: "u", Containers: []ContainerStatus{{Name: "c"}}}
	text := "t"
	number := 1
	for name, change := range map[string]func(*PodStatus){
		"another uid":         func(p *PodStatus) { p.UID = "v" },
		"a node":              func(p *PodStatus) { p.Node = &text },
		"another status":      func(p *PodStatus) { p.Status = "Error" },
		"a message":           func(p *PodStatus) { p.Message = &text },
		"readiness":           func(p *PodStatus) { p.Ready = true },
		"restarts":            func(p *PodStatus) { p.Restarts = 1 },
		"a deletion":          func(p *PodStatus) { p.DeletionRequestedAt = &maxTime },
		"a container's state": func(p *PodStatus) { p.Containers = []ContainerStatus{{Name: "c", State: "RUNNING"}} },
		"a container's exit":  func(p *PodStatus) { p.Containers = []ContainerStatus{{Name: "c", ExitCode: &number}} },
	} {
		t.Run(name, func(t *testing.T) {
			changed := base
			change(&changed)
			before, err := FingerprintPod(base)
			if err != nil {
				t.Fatal(err)
			}
			after, err := FingerprintPod(changed)
			if err != nil {
				t.Fatal(err)
			}
			if before == after {
				t.Error("the fingerprint is the same")
			}
		})
	}
}
