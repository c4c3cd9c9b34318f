// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxText is the longest text that a report carries, in bytes (P6).
const maxText = 1024

// replacement stands for bytes that are no UTF-8.
const replacement = string(utf8.RuneError)

// cleanText returns s as every database takes it: valid UTF-8 without NUL, cut
// to maxText bytes on a character boundary (P6). Clean text is returned as it
// is, without a copy.
func cleanText(s string) string {
	if len(s) > maxText {
		// What lies behind the cut is not looked at, but a character that the cut
		// would split must not turn into a replacement character.
		s = cutText(s, maxText)
	}
	s = strings.ToValidUTF8(s, replacement)
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	// Replacements are longer than the bytes they stand for.
	return cutText(s, maxText)
}

// cutText returns the longest prefix of s of at most limit bytes that does not
// end within a character.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > 0 && limit-end < utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	if !utf8.RuneStart(s[end]) {
		// Not a character at all but a run of stray bytes: cut anywhere.
		end = limit
	}
	return s[:end]
}

// optionalText is cleanText for a field that is absent when it is empty.
func optionalText(s string) *string {
	s = cleanText(s)
	if s == "" {
		return nil
	}
	return &s
}

// optionalTime returns t in UTC as the wire carries it, to the second. Absent
// times are nil, and so are those outside the years that RFC 3339 can write.
func optionalTime(t metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC().Truncate(time.Second)
	if utc.Year() < 1 || utc.Year() > 9999 {
		return nil
	}
	return &utc
}

// requiredTime is optionalTime for a field that must have a value: the Unix
// epoch where there is none.
func requiredTime(t metav1.Time) time.Time {
	if utc := optionalTime(t); utc != nil {
		return *utc
	}
	return time.Unix(0, 0).UTC()
}

// clampInt keeps n within GraphQL's Int, which has 32 bits.
func clampInt(n int64) int {
	return int(min(max(n, math.MinInt32), math.MaxInt32))
}
