// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
)

// PodKey names a pod row of a cluster. A new pod under an old name replaces the
// row, so the name is the key and the UID part of what it holds (R1).
type PodKey struct{ Namespace, Name string }

// PodFingerprint tells whether a row differs from a reported pod without reading
// the row.
type PodFingerprint string

// fingerprintBytes of the hash are enough to tell a pod from itself.
const fingerprintBytes = 18

// StoredPod is what the rules need to know of a pod row.
type StoredPod struct {
	Fingerprint PodFingerprint
}

// FingerprintPod returns the fingerprint of a pod's reported fields.
func FingerprintPod(pod PodStatus) (PodFingerprint, error) {
	// What the server adds itself is not part of what was reported.
	pod.DeploymentID, pod.ChangedAt, pod.ClusterID = nil, minTime, ""
	text, err := json.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("fingerprinting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	sum := sha256.Sum256(text)
	return PodFingerprint(base64.RawStdEncoding.EncodeToString(sum[:fingerprintBytes])), nil
}

// NamespaceDigests maps the namespaces that have rows, or an acknowledged
// digest, to that digest; nil where it was forgotten.
type NamespaceDigests map[string]*string

// PodScope tells which rows must be read to apply a report.
type PodScope struct {
	// Whole lists namespaces whose rows are all needed.
	Whole []string
	// Named are the rows that changes touch.
	Named []PodKey
}

// FingerprintedPod is a pod row to write.
type FingerprintedPod struct {
	PodStatus
	Fingerprint PodFingerprint
}

// GonePod names a pod by its UID, so that a new pod of the same name stays.
type GonePod struct{ Namespace, UID string }

// PodChanges is what a report changes in the rows of its cluster.
type PodChanges struct {
	Upserts []FingerprintedPod
	// Deletes are rows that a namespace in full does not hold.
	Deletes []PodKey
	// Gone are rows that changes to a base say to be gone.
	Gone []GonePod
	// Digests are to be stored; a nil digest is to be forgotten.
	Digests NamespaceDigests
	// DropNamespaces go with all their rows and their digest.
	DropNamespaces []string
	Rejected       []RejectedRow
	// Resend lists the namespaces that are wanted in full. They are untouched.
	Resend []string
}

// podAction says how a namespace of a report is applied.
type podAction int

const (
	podsUnchanged podAction = iota
	podsInFull
	podsChanged
	podsUnknown
)

// actionFor compares what a namespace of the report builds on with what is
// stored. Changes apply to their very base alone (R1).
func actionFor(ns NamespacePods, digests NamespaceDigests) podAction {
	stored := digests[ns.Namespace]
	switch {
	case ns.Base != nil && stored != nil && *stored == *ns.Base:
		return podsChanged
	case ns.Base != nil:
		return podsUnknown
	case ns.Pods != nil:
		return podsInFull
	case stored != nil && *stored == ns.Digest:
		return podsUnchanged
	}
	return podsUnknown
}

// Clean returns the report with the text of its namespaces as it is stored
// (R15). The pods are cleaned as they are applied.
func (r PodReport) Clean() PodReport {
	namespaces := make([]NamespacePods, len(r.Namespaces))
	for i, ns := range r.Namespaces {
		ns.Namespace = CleanText(ns.Namespace, MaxNameBytes)
		ns.Digest = CleanText(ns.Digest, MaxNameBytes)
		ns.Base = cleanOptional(ns.Base, MaxNameBytes)
		namespaces[i] = ns
	}
	r.Namespaces = namespaces
	return r
}

// Validate refuses a report that contradicts itself, naming the field.
func (r *PodReport) Validate() error {
	seen := make(map[string]bool, len(r.Namespaces))
	for i, ns := range r.Namespaces {
		if seen[ns.Namespace] {
			return InvalidInput(fmt.Sprintf("namespaces[%d].namespace", i), "namespace %s is listed twice", ns.Namespace)
		}
		seen[ns.Namespace] = true
	}
	return r.Header.validate()
}

func (h ReportHeader) validate() error {
	if h.Sequence < 0 {
		return InvalidInput("report.sequence", "%d is negative", h.Sequence)
	}
	return nil
}

// Scope tells which rows Apply needs, given the stored digests.
func (r *PodReport) Scope(digests NamespaceDigests) PodScope {
	var scope PodScope
	for _, ns := range r.Namespaces {
		switch actionFor(ns, digests) {
		case podsInFull:
			// Without rows or digest there is nothing to compare with.
			if _, known := digests[ns.Namespace]; known {
				scope.Whole = append(scope.Whole, ns.Namespace)
			}
		case podsChanged:
			for _, pod := range ns.Pods {
				scope.Named = append(scope.Named, PodKey{ns.Namespace, CleanText(pod.Name, MaxNameBytes)})
			}
		}
	}
	return scope
}

// Apply decides what the report changes (R1), given the stored digests and the
// rows of its scope. It cleans what it keeps and rejects rows that cannot be
// kept (R15).
func (r *PodReport) Apply(digests NamespaceDigests, stored map[PodKey]StoredPod) (PodChanges, error) {
	changes := PodChanges{Digests: NamespaceDigests{}}
	reported := make(map[string]bool, len(r.Namespaces))
	for _, ns := range r.Namespaces {
		reported[ns.Namespace] = true
		action := actionFor(ns, digests)
		if action == podsUnknown {
			changes.Resend = append(changes.Resend, ns.Namespace)
		}
		if action != podsInFull && action != podsChanged {
			continue
		}
		if ns.Namespace == "" {
			changes.Rejected = append(changes.Rejected, RejectedRow{Reason: "the namespace has no name"})
			continue
		}
		rejected := len(changes.Rejected)
		kept, err := changes.upsert(ns, stored)
		if err != nil {
			return PodChanges{}, err
		}
		if r.Header.Complete {
			changes.remove(ns, action, kept, stored)
		}
		// What an incomplete report leaves, or one of which rows were rejected, is
		// nobody's whole state.
		changes.Digests[ns.Namespace] = nil
		if r.Header.Complete && len(changes.Rejected) == rejected {
			changes.Digests[ns.Namespace] = &ns.Digest
		}
	}
	// One without a name may be any that is not listed.
	if r.Header.Complete && !reported[""] {
		for namespace := range digests {
			if !reported[namespace] {
				changes.DropNamespaces = append(changes.DropNamespaces, namespace)
			}
		}
	}
	changes.sort()
	return changes, nil
}

// upsert adds the pods of a namespace that differ from their rows and returns
// the keys of all that are there. A pod that is rejected is there as well; one
// without a name, under the empty name, may be any.
func (c *PodChanges) upsert(ns NamespacePods, stored map[PodKey]StoredPod) (map[PodKey]bool, error) {
	kept := make(map[PodKey]bool, len(ns.Pods))
	var unread []PodKey
	for _, pod := range ns.Pods {
		pod.Namespace = ns.Namespace
		pod = CleanPod(pod)
		key := PodKey{pod.Namespace, pod.Name}
		if reason := whyPodIsRejected(pod, kept[key]); reason != "" {
			c.Rejected = append(c.Rejected, RejectedRow{Namespace: pod.Namespace, Name: pod.Name, Reason: reason})
			unread = append(unread, key)
			continue
		}
		kept[key] = true
		fingerprint, err := FingerprintPod(pod)
		if err != nil {
			return nil, err
		}
		if row, ok := stored[key]; ok && row.Fingerprint == fingerprint {
			continue
		}
		c.Upserts = append(c.Upserts, FingerprintedPod{PodStatus: pod, Fingerprint: fingerprint})
	}
	for _, key := range unread {
		kept[key] = true
	}
	return kept, nil
}

func whyPodIsRejected(pod PodStatus, again bool) string {
	switch {
	case pod.Name == "":
		return "the pod has no name"
	case pod.UID == "":
		return "the pod has no uid"
	case again:
		return "the report holds another pod of this name"
	}
	return ""
}

// remove deletes what a complete report says to be gone.
func (c *PodChanges) remove(ns NamespacePods, action podAction, kept map[PodKey]bool, stored map[PodKey]StoredPod) {
	if action == podsChanged {
		for _, uid := range ns.Gone {
			c.Gone = append(c.Gone, GonePod{Namespace: ns.Namespace, UID: CleanText(uid, MaxNameBytes)})
		}
		return
	}
	if kept[PodKey{Namespace: ns.Namespace}] {
		return
	}
	for key := range stored {
		if key.Namespace == ns.Namespace && !kept[key] {
			c.Deletes = append(c.Deletes, key)
		}
	}
}

// sort makes the writes, and with them the row locks, come in the same order
// every time.
func (c *PodChanges) sort() {
	slices.Sort(c.DropNamespaces)
	slices.SortFunc(c.Deletes, func(a, b PodKey) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
}
