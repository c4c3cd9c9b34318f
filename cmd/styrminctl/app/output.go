// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// output is the format that -o picks.
type output string

const (
	outputTable output = ""
	outputWide  output = "wide"
	outputJSON  output = "json"
	outputYAML  output = "yaml"
	outputName  output = "name"
)

// addOutput adds the flag -o with the formats that the command has.
func addOutput(command *cobra.Command, to *output, formats ...output) {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = string(format)
	}
	command.Flags().VarP(&outputFlag{to, names}, "output", "o", "output format: "+strings.Join(names, ", "))
	// It fails only for a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

type outputFlag struct {
	value *output
	names []string
}

func (f *outputFlag) String() string {
	if f.value == nil {
		return ""
	}
	return string(*f.value)
}

func (*outputFlag) Type() string { return "format" }

func (f *outputFlag) Set(text string) error {
	if !slices.Contains(f.names, text) {
		return fmt.Errorf("must be one of %s", strings.Join(f.names, ", "))
	}
	*f.value = output(text)
	return nil
}

// isForScripts tells whether the format is read by programs.
func (o output) isForScripts() bool { return o == outputJSON || o == outputYAML || o == outputName }

// encode prints a value as JSON or YAML.
func (a *app) encode(format output, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil && format == outputYAML {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	a.print("%s", strings.TrimSuffix(string(text), "\n"))
	return nil
}

// table prints rows in columns, as kubectl does; the first row are the headings.
func table(out io.Writer, rows [][]string) error {
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 6, 4, 3, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(cell)
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) // a builder takes everything
	}
	_ = w.Flush()
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
	}
	return nil
}

// age is how long ago something was, in kubectl's words.
func (a *app) age(at time.Time) string {
	if at.IsZero() {
		return none
	}
	return duration.HumanDuration(max(0, a.now().Sub(at)))
}

// took is how long something lasted, or has so far.
func (a *app) took(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	if to.IsZero() {
		to = a.now()
	}
	return duration.HumanDuration(max(0, to.Sub(from)))
}

// none stands for what is not there.
const none = "<none>"

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// printable takes out of a text what would not be shown but obeyed by a
// terminal. Messages come from clusters, and so from anyone.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// oneLine is a text for a line that it shares with others.
func oneLine(text string) string {
	return strings.Join(strings.Fields(printable(text)), " ")
}

// printPlainly prints a list of what kind names in the formats that are no table,
// and says where it is empty; it tells whether that was all there is to do.
func printPlainly[T any](a *app, format output, kind string, list []T, name func(*T) string) (done bool, err error) {
	switch {
	case format == outputJSON || format == outputYAML:
		return true, a.encode(format, orEmpty(list))
	case format == outputName:
		for i := range list {
			a.print("%s/%s", kind, name(&list[i]))
		}
		return true, nil
	case len(list) == 0:
		a.say("No %ss found.", kind)
		return true, nil
	}
	return false, nil
}

// orEmpty makes a list of no elements an empty one in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
