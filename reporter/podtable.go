// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// podTable holds the digest of one row for each pod of the newest snapshot, and
// what the server has acknowledged of each namespace (P7). It is what makes an
// unchanged cycle cheap: a row is rendered when its pod changes, and what is
// acknowledged does not travel again. The row itself is kept until it is
// acknowledged; where it has to travel once more it is made anew of its pod, which
// the informer keeps anyway.
//
// It is used by the reporter's loop alone.
type podTable struct {
	// snapshot numbers the calls of update, reported those of report.
	snapshot, reported uint64
	namespaces         map[string]*podNamespace
	// components are those of the newest update, as the rows have them.
	components componentIndex
}

// podNamespace is a namespace that holds pods.
type podNamespace struct {
	name string
	// components is the version of the component index that the rows were
	// rendered with.
	components string
	byUID      map[types.UID]*podEntry
	// sorted holds the entries of byUID by name and UID.
	sorted []*podEntry
	// gone holds the UIDs of pods that went since the acknowledged snapshot; none
	// without one, however long the server is away.
	gone map[types.UID]struct{}
	// digest of all rows.
	digest string
	// acknowledged is the digest of which the server said that it holds it, ""
	// for none, and acknowledgedIn the snapshot that it describes.
	acknowledged   string
	acknowledgedIn uint64
	// isDue tells that the namespace is to travel whole once more, acknowledged or
	// not, and wholeIn is the report in which it last did.
	isDue   bool
	wholeIn uint64
	// lackingSince is the report since which the server lacks the namespace or, where it
	// was too much, in which it was last tried; 0 where the server has it.
	lackingSince uint64
	// tooMuch counts the reports in a row that were more than the server takes and
	// had the whole namespace in them, or as much.
	tooMuch int

	// seen counts the pods of the current update; resort and redigest tell what
	// has to be brought up to date at its end.
	seen             int
	resort, redigest bool
}

// podEntry is a pod's row.
type podEntry struct {
	// pod is shared with the informer and must not be changed.
	pod             *corev1.Pod
	uid             types.UID
	name            string
	resourceVersion string
	pullFailures    []pullFailure
	// row is the PodStatusInput in JSON, nil once it is acknowledged; size and sum
	// are its length and digest.
	row  []byte
	size int
	sum  [sha256.Size]byte
	// changedIn is the snapshot in which the row last changed, seenIn the newest
	// that held the pod.
	changedIn, seenIn uint64
}

// namespaceReport is a NamespacePodsInput with rendered rows.
type namespaceReport struct {
	namespace, digest string
	// base is the acknowledged digest that rows and gone are changes to, "" for
	// the whole namespace.
	base string
	// rows are nil where the namespace is unchanged.
	rows []*podEntry
	gone []types.UID
	// components are what rows are made with.
	components componentIndex
}

func newPodTable() *podTable {
	return &podTable{namespaces: map[string]*podNamespace{}}
}

// update brings the table to exactly these pods. A pod whose resource version
// and components are as before keeps its row; the pods are not changed. A pod
// that cannot be a row, since no API server serves such a name, namespace or
// UID, is passed over (P6).
func (t *podTable) update(pods []*corev1.Pod, components componentIndex) error {
	t.snapshot++
	t.components = components
	for _, namespace := range t.namespaces {
		namespace.seen = 0
		if version := components.version(namespace.name); namespace.components != version {
			namespace.components = version
			namespace.forgetVersions()
		}
	}
	for _, pod := range pods {
		if err := t.namespace(pod.Namespace, components).update(pod, components, t.snapshot); err != nil {
			return fmt.Errorf("rendering pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	for name, namespace := range t.namespaces {
		namespace.finish(t.snapshot)
		if len(namespace.sorted) == 0 {
			delete(t.namespaces, name)
		}
	}
	return nil
}

func (t *podTable) namespace(name string, components componentIndex) *podNamespace {
	namespace := t.namespaces[name]
	if namespace == nil {
		namespace = &podNamespace{
			name:       name,
			components: components.version(name),
			byUID:      map[types.UID]*podEntry{},
			gone:       map[types.UID]struct{}{},
		}
		t.namespaces[name] = namespace
	}
	return namespace
}

// report returns all namespaces, sorted by name: unchanged ones with their
// digest, changed ones with what changed since the acknowledged digest, others
// whole. Rows of more than limit bytes together are not sent at once: what is
// over it goes with its digest only, and follows with the next reports. Changes go
// first, then what the server lacks, then what it is told again; of each what has
// waited for longest. One of them goes however little room there is, so that none
// waits for ever.
func (t *podTable) report(limit int) []namespaceReport {
	t.reported++
	names := slices.Sorted(maps.Keys(t.namespaces))
	reports := make([]namespaceReport, len(names))
	at := make(map[*podNamespace]*namespaceReport, len(names))
	var changed, lacking, due []*podNamespace
	for i, name := range names {
		namespace := t.namespaces[name]
		reports[i] = namespaceReport{namespace: name, digest: namespace.digest, components: t.components}
		at[namespace] = &reports[i]
		switch {
		case namespace.acknowledged == "":
			if namespace.lackingSince == 0 {
				namespace.lackingSince = t.reported
			}
			lacking = append(lacking, namespace)
		case namespace.isDue:
			due = append(due, namespace)
		}
		if namespace.acknowledged != "" && namespace.acknowledged != namespace.digest {
			changed = append(changed, namespace)
		}
	}
	slices.SortStableFunc(changed, func(a, b *podNamespace) int { return cmp.Compare(a.acknowledgedIn, b.acknowledgedIn) })
	slices.SortStableFunc(lacking, func(a, b *podNamespace) int { return cmp.Compare(a.lackingSince, b.lackingSince) })
	slices.SortStableFunc(due, func(a, b *podNamespace) int { return cmp.Compare(a.wholeIn, b.wholeIn) })
	size := 0
	for _, namespace := range changed {
		rows, gone := namespace.changes()
		if added := sizeOfRows(rows, gone); size == 0 || size+added <= limit {
			report := at[namespace]
			report.base, report.rows, report.gone = namespace.acknowledged, rows, gone
			size += added
		}
	}
	wholes := 0
	for _, namespace := range append(lacking, due...) {
		report := at[namespace]
		added := sizeOfRows(namespace.sorted, nil) - report.size()
		if size+added <= limit || (wholes == 0 && namespace.mayExceed(t.reported)) {
			report.base, report.rows, report.gone = "", namespace.sorted, nil
			size += added
			wholes++
		}
	}
	return reports
}

// mayExceed tells whether the whole namespace may go though there is no room for it:
// the more rarely, down to each eighth report, the more often that was too much for
// the server, which would get nothing else either.
func (n *podNamespace) mayExceed(report uint64) bool {
	return report%(1<<min(n.tooMuch, 3)) == 0
}

// acknowledge takes in that the server has what the reports, made of the newest
// snapshot, told it, but for the namespaces that it wants again. Of those that hold
// rows which it could not store it keeps no digest: they too have to travel again.
func (t *podTable) acknowledge(reports []namespaceReport, resend []string, rejected []RejectedRow) {
	wanted := sets.New(resend...)
	for i := range rejected {
		wanted.Insert(rejected[i].Namespace)
	}
	for i := range reports {
		report := &reports[i]
		namespace := t.namespaces[report.namespace]
		if namespace == nil {
			continue
		}
		isWanted, isLeftOut := wanted.Has(report.namespace), report.rows == nil && namespace.acknowledged != report.digest
		switch {
		case isLeftOut && (isWanted || namespace.acknowledged == ""):
			// What the server has of it is as it was (R1).
		case isWanted:
			namespace.forget()
			namespace.lackingSince = 0
		default:
			namespace.acknowledged, namespace.acknowledgedIn, namespace.lackingSince = report.digest, t.snapshot, 0
			clear(namespace.gone)
			for _, entry := range report.rows {
				entry.row = nil
			}
			if report.rows != nil && report.base == "" {
				namespace.isDue, namespace.wholeIn, namespace.tooMuch = false, t.reported, 0
			}
		}
	}
}

// doubt takes in that it is not known whether the server has what the reports
// told it: the answer was lost. What they told anew travels whole next time, for
// changes to a state that the server may have left behind would change nothing
// there, and its old rows would be taken for new (P2).
func (t *podTable) doubt(reports []namespaceReport) {
	for i := range reports {
		if namespace := t.namespaces[reports[i].namespace]; namespace != nil && reports[i].rows != nil {
			namespace.forget()
		}
	}
}

// exceeded takes in that the reports, made for that limit, were more than the server
// takes.
func (t *podTable) exceeded(reports []namespaceReport, limit int) {
	for i := range reports {
		namespace := t.namespaces[reports[i].namespace]
		if namespace == nil || reports[i].rows == nil || (reports[i].base != "" && reports[i].size() <= limit) {
			continue
		}
		namespace.tooMuch++
		namespace.lackingSince = t.reported // It has had its turn.
		if reports[i].base != "" {
			namespace.forget() // Changes go each time; so many have to take their turn.
		}
	}
}

// forget makes the next reports tell everything, and take nothing for acknowledged.
func (t *podTable) forget() {
	for _, namespace := range t.namespaces {
		namespace.forget()
	}
}

// tellAgain makes the next reports that have room for it tell everything.
func (t *podTable) tellAgain() {
	for _, namespace := range t.namespaces {
		namespace.isDue = true
	}
}

// size returns how many pods the table holds.
func (t *podTable) size() int {
	size := 0
	for _, namespace := range t.namespaces {
		size += len(namespace.sorted)
	}
	return size
}

// forget makes the namespace travel whole, which needs none of what went.
func (n *podNamespace) forget() {
	n.acknowledged = ""
	clear(n.gone)
}

// forgetVersions makes every row of the namespace be rendered anew.
func (n *podNamespace) forgetVersions() {
	for _, entry := range n.sorted {
		entry.resourceVersion = ""
	}
}

// update takes in a pod of the namespace.
func (n *podNamespace) update(pod *corev1.Pod, components componentIndex, snapshot uint64) error {
	entry := n.byUID[pod.UID]
	if entry == nil {
		if !isIdentity(string(pod.UID)) || !isIdentity(pod.Name) || !isIdentity(pod.Namespace) {
			return nil
		}
		entry = &podEntry{uid: pod.UID, name: pod.Name}
	}
	// The informer may have it anew though it is the same.
	entry.pod = pod
	if entry.resourceVersion != pod.ResourceVersion || entry.resourceVersion == "" {
		if err := n.render(entry, components, snapshot); err != nil {
			return err
		}
	}
	if _, known := n.byUID[pod.UID]; !known {
		n.byUID[pod.UID] = entry
		n.sorted = append(n.sorted, entry)
		n.resort = true
		delete(n.gone, pod.UID)
	}
	if entry.seenIn != snapshot {
		entry.seenIn = snapshot
		n.seen++
	}
	return nil
}

// render makes the row of a pod that has changed.
func (n *podNamespace) render(entry *podEntry, components componentIndex, snapshot uint64) error {
	row, pullFailures, err := entry.render(components)
	if err != nil {
		return err
	}
	entry.resourceVersion = entry.pod.ResourceVersion
	entry.pullFailures = pullFailures
	if sum := sha256.Sum256(row); entry.sum != sum {
		entry.row, entry.size, entry.sum = row, len(row), sum
		entry.changedIn = snapshot
		n.redigest = true
	}
	return nil
}

// render makes the row of the pod, the same one for the same pod, and returns
// what to remember of it.
func (e *podEntry) render(components componentIndex) ([]byte, []pullFailure, error) {
	row := podRow(e.pod, components.find(e.pod.Namespace, e.pod.Labels))
	pullFailures := keepPullMessages(&row, e.pullFailures)
	rendered, err := json.Marshal(&row)
	return rendered, pullFailures, err
}

// isIdentity tells whether s can name a row.
func isIdentity(s string) bool {
	return s != "" && s == cleanText(s)
}

// finish removes the pods that the snapshot did not hold and brings order and
// digest up to date.
func (n *podNamespace) finish(snapshot uint64) {
	if n.seen != len(n.sorted) {
		n.sorted = slices.DeleteFunc(n.sorted, func(entry *podEntry) bool {
			if entry.seenIn == snapshot {
				return false
			}
			delete(n.byUID, entry.uid)
			if n.acknowledged != "" {
				n.gone[entry.uid] = struct{}{}
			}
			return true
		})
		n.redigest = true
		if len(n.gone) > len(n.sorted) {
			n.forget() // All that is there is less, and what goes meanwhile may be ever more.
		}
	}
	if n.resort {
		slices.SortFunc(n.sorted, func(a, b *podEntry) int {
			return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.uid, b.uid))
		})
		n.resort = false
	}
	if n.redigest {
		hash := sha256.New()
		for _, entry := range n.sorted {
			hash.Write(entry.sum[:])
		}
		n.digest = shortDigest(hash.Sum(nil))
		n.redigest = false
	}
}

// changes returns what changed since the acknowledged digest.
func (n *podNamespace) changes() (rows []*podEntry, gone []types.UID) {
	rows = make([]*podEntry, 0)
	for _, entry := range n.sorted {
		if entry.changedIn > n.acknowledgedIn {
			rows = append(rows, entry)
		}
	}
	return rows, slices.Sorted(maps.Keys(n.gone))
}

// size returns about how many bytes the report's rows take.
func (r *namespaceReport) size() int { return sizeOfRows(r.rows, r.gone) }

func sizeOfRows(rows []*podEntry, gone []types.UID) int {
	size := 0
	for _, entry := range rows {
		size += entry.size
	}
	for _, uid := range gone {
		size += len(uid)
	}
	return size
}

// sizeOf returns about how many bytes the rows of the reports take.
func sizeOf(reports []namespaceReport) int {
	size := 0
	for i := range reports {
		size += reports[i].size()
	}
	return size
}

// shortDigest writes the first 128 bits of a hash, which suffice against
// accident, as text.
func shortDigest(sum []byte) string {
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
