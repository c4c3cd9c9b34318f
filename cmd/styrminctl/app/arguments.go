// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// emptyNames are arguments that name nothing.
var emptyNames = []string{"", "deployment/", "cluster/", "task/"}

// checkGiven refuses arguments and flags that are given but empty, as a variable of
// a script is that was not set: without a name, any deployment would be meant.
func checkGiven(command *cobra.Command, args []string) error {
	if command.DisableFlagParsing {
		return nil // It completes a line, of which nothing may have been written yet.
	}
	var wrong error
	command.Flags().Visit(func(flag *pflag.Flag) {
		if wrong == nil && isEmpty(flag.Value) {
			wrong = &usageError{fmt.Errorf("--%s is given, but empty", flag.Name)}
		}
	})
	names, _ := argumentsOf(command)
	for i, arg := range args {
		if wrong == nil && slices.Contains(emptyNames, arg) && len(names) > 0 {
			wrong = &usageError{fmt.Errorf("%s is empty", names[min(i, len(names)-1)])}
		}
	}
	return wrong
}

// countArguments refuses arguments that are missing or too many.
func countArguments(command *cobra.Command, args []string) error {
	names, repeated := argumentsOf(command)
	switch {
	case len(args) < len(names):
		return fmt.Errorf("%s is missing: %s", names[len(args)], command.UseLine())
	case len(args) > len(names) && !repeated:
		return fmt.Errorf("unexpected argument %q: %s", args[len(names)], command.UseLine())
	}
	return nil
}

// argumentsOf are the names of a command's arguments, as its line of use has them
// before its flags, and whether the last may be repeated.
func argumentsOf(command *cobra.Command) (names []string, repeated bool) {
	for _, word := range strings.Fields(command.Use)[1:] {
		if strings.HasPrefix(word, "-") {
			break
		}
		name, isRepeated := strings.CutSuffix(word, "…")
		names, repeated = append(names, name), isRepeated
	}
	return names, repeated
}

func isEmpty(value pflag.Value) bool {
	if list, ok := value.(pflag.SliceValue); ok {
		return slices.Contains(list.GetSlice(), "")
	}
	return value.String() == ""
}
