// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import "testing"

// TestALineIsCutByTheColumnsThatItTakes: one that is longer than the terminal is wide
// would be drawn as two, and the screen in the wrong place.
func TestALineIsCutByTheColumnsThatItTakes(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		length int
		want   string
	}{
		"one that fits":                       {"shop", 4, "shop"},
		"one that does not":                   {"shops", 4, "sho…"},
		"characters of two columns":           {"無法拉取映像", 12, "無法拉取映像"},
		"too many of them":                    {"無法拉取映像", 11, "無法拉取映…"},
		"one of them where half of it fits":   {"無法拉取映像", 6, "無法…"},
		"a picture":                           {"a🚀b", 3, "a…"},
		"accents that stand on a character":   {"e\u0301e\u0301", 2, "e\u0301e\u0301"},
		"accents on what is left":             {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		"no room":                             {"shop", 1, "…"},
		"no text":                             {"", 1, ""},
		"a character that never fits":         {"無", 1, "…"},
		"a letter of more than one byte":      {"größer", 6, "größer"},
		"letters of more than one byte, more": {"größer", 5, "größ…"},
	} {
		if got := cut(test.text, test.length); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
