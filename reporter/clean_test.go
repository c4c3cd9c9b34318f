// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestP6CleanText(t *testing.T) {
	long := strings.Repeat("a", maxText)
	for name, tc := range map[string]struct{ in, want string }{
		"clean text stays as it is":                      {"back-off 5m0s", "back-off 5m0s"},
		"empty text stays empty":                         {"", ""},
		"NUL goes":                                       {"boom\x00!", "boom!"},
		"bytes that are no UTF-8 are replaced":           {"a\xffb", "a\uFFFDb"},
		"a surrogate half is replaced":                   {"a\xed\xa0\x80b", "a\uFFFDb"},
		"text of exactly the limit is kept whole":        {long, long},
		"a character across the limit is left out":       {long[:maxText-1] + "世界", long[:maxText-1]},
		"a character that ends at the limit is kept":     {long[:maxText-3] + "世界", long[:maxText-3] + "世"},
		"a stray byte before the limit is replaced":      {"\xff" + long, "\uFFFD" + long[:maxText-3]},
		"a run of stray bytes longer than the limit":     {strings.Repeat("\x80", 2*maxText), "\uFFFD"},
		"a case of NUL, stray byte and cut (case C02)":   {"boom\x00\xff" + strings.Repeat("x", 4095) + "世", "boom\uFFFD" + strings.Repeat("x", maxText-len("boom\uFFFD"))},
		"a cut in the middle of a four-byte emoji":       {long[:maxText-2] + "😀", long[:maxText-2]},
		"the replacement may not push it over the limit": {long[:maxText-1] + "\xff", long[:maxText-1]},
	} {
		t.Run(name, func(t *testing.T) {
			got := cleanText(tc.in)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("cleanText (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzP6CleanText(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\xff", strings.Repeat("世", 400), strings.Repeat("\x80", 1500)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanText(s)
		switch {
		case !utf8.ValidString(got):
			t.Errorf("cleanText(%q) is not valid UTF-8: %q", s, got)
		case strings.ContainsRune(got, 0):
			t.Errorf("cleanText(%q) holds NUL", s)
		case len(got) > maxText:
			t.Errorf("cleanText(%q) has %d bytes", s, len(got))
		case cleanText(got) != got:
			t.Errorf("cleanText(%q) is not stable: %q", s, got)
		case utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasPrefix(s, got):
			t.Errorf("cleanText(%q) changed clean text: %q", s, got)
		}
	})
}

func TestP6Times(t *testing.T) {
	at := func(s string) metav1.Time {
		parsed, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return metav1.NewTime(parsed)
	}
	moment := func(s string) *time.Time {
		parsed := at(s).UTC()
		return &parsed
	}
	for name, tc := range map[string]struct {
		in   metav1.Time
		want *time.Time
	}{
		"an absent time is nil, never year 1":        {metav1.Time{}, nil},
		"a time is told in UTC":                      {at("2026-11-29T18:40:05+02:00"), moment("2026-11-29T16:40:05Z")},
		"fractions of a second are cut":              {metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 999, time.UTC)), moment("2026-01-01T00:00:00Z")},
		"a year past 9999 cannot be written":         {at("9999-12-31T23:59:59-12:00"), nil},
		"a year before the first cannot be a moment": {at("0000-06-01T00:00:00Z"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, optionalTime(tc.in)); diff != "" {
				t.Errorf("optionalTime (-want +got):\n%s", diff)
			}
		})
	}
}
