// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"errors"
	"syscall"
)

// terminate asks the whole process group to end.
func terminate(pid int) error { return signalGroup(pid, syscall.SIGTERM) }

// kill ends the whole process group at once.
func kill(pid int) error { return signalGroup(pid, syscall.SIGKILL) }

func signalGroup(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(-pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
