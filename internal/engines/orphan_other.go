//go:build !linux

package engines

import "syscall"

// dieWithParent: elsewhere a server outlives a test process that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }
