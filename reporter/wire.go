// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"encoding/json"
	"io"
)

// podVariables are the variables of ReportPodStatuses with rendered rows: the
// generated type would have each row rendered anew for each report, and the
// whole body in memory.
type podVariables struct {
	report     ReportHeader
	namespaces []namespaceReport
}

// WriteJSON writes the variables as the contract has them.
func (v *podVariables) WriteJSON(w io.Writer) error {
	out := jsonWriter{w: w}
	out.raw(`{"report":`)
	out.value(v.report)
	out.raw(`,"namespaces":[`)
	for i := range v.namespaces {
		if i > 0 {
			out.raw(",")
		}
		out.namespace(&v.namespaces[i])
	}
	out.raw("]}")
	return out.err
}

// jsonWriter writes JSON piece by piece and keeps the first error.
type jsonWriter struct {
	w   io.Writer
	err error
}

func (o *jsonWriter) namespace(n *namespaceReport) {
	o.raw(`{"namespace":`)
	o.value(n.namespace)
	o.raw(`,"digest":`)
	o.value(n.digest)
	if n.base != "" {
		o.raw(`,"base":`)
		o.value(n.base)
	}
	if n.rows != nil {
		o.raw(`,"pods":[`)
		for i, entry := range n.rows {
			if i > 0 {
				o.raw(",")
			}
			o.row(entry, n.components)
		}
		o.raw("]")
	}
	if len(n.gone) > 0 {
		o.raw(`,"gone":`)
		o.value(n.gone)
	}
	o.raw("}")
}

// row writes the row of a pod, and makes it where it is not kept.
func (o *jsonWriter) row(entry *podEntry, components componentIndex) {
	row := entry.row
	if row == nil && o.err == nil {
		row, _, o.err = entry.render(components)
	}
	o.bytes(row)
}

func (o *jsonWriter) value(v any) {
	if o.err != nil {
		return
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		o.err = err
		return
	}
	o.bytes(encoded)
}

func (o *jsonWriter) raw(s string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.w, s)
	}
}

func (o *jsonWriter) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}
