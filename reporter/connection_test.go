// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestP2AnAPIServerSaysWhetherItsWatchCacheIsBehind asks a real one for what it has,
// and for what it does not have yet, as if its etcd told its reads more than its
// watches.
func TestP2AnAPIServerSaysWhetherItsWatchCacheIsBehind(t *testing.T) {
	for _, resource := range []schema.GroupVersionResource{podResource, deploymentResource} {
		t.Run(resource.Resource, func(t *testing.T) {
			c, err := newConnection(sharedConfig(t), testScheme(t), resource)
			if err != nil {
				t.Fatal(err)
			}
			defer c.cut()
			current, err := c.currentVersion(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// It fills the cache of a kind when the first one asks for it.
			eventually(t, "it has reached what it has", func() bool { return c.hasReached(t.Context(), current) == nil })
			version, err := strconv.ParseUint(current, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.hasReached(t.Context(), strconv.FormatUint(version+1e6, 10)); !errors.Is(err, errBehind) {
				t.Errorf("it has reached what is yet to come: %v", err)
			}
		})
	}
}
