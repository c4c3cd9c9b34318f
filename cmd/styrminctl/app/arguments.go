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
	names := strings.Fields(command.Use)[1:]
	for i, arg := range args {
		if wrong == nil && slices.Contains(emptyNames, arg) && len(names) > 0 {
			name := strings.TrimSuffix(names[min(i, len(names)-1)], "…")
			wrong = &usageError{fmt.Errorf("%s is empty", name)}
		}
	}
	return wrong
}

func isEmpty(value pflag.Value) bool {
	if list, ok := value.(pflag.SliceValue); ok {
		return slices.Contains(list.GetSlice(), "")
	}
	return value.String() == ""
}
