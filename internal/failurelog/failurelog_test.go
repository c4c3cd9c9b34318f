// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package failurelog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestP5FailuresAreLoggedOnceAMinute(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	failures := New(clock)
	for range 25 {
		failures.Outcome(log, "reporting pods", errors.New("the test says so"))
		clock.Step(5 * time.Second)
	}
	failures.Outcome(log, "reporting pods", nil)
	failures.Outcome(log, "reporting pods", nil)
	want := []string{
		`"logger"="" "msg"="Failed" "error"="the test says so" "activity"="reporting pods" "failures"=1`,
		`"logger"="" "msg"="Failed" "error"="the test says so" "activity"="reporting pods" "failures"=13`,
		`"logger"="" "msg"="Failed" "error"="the test says so" "activity"="reporting pods" "failures"=25`,
		`"level"=0 "msg"="Recovered" "activity"="reporting pods" "failures"=25 "after"="2m5s"`,
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], `"logger"="" `, "")
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], `"logger"="" `, "")
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
