// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// childAttributes put the child into a group of its own and let the kernel kill it with its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
