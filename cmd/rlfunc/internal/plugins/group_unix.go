//go:build unix

package plugins

import (
	"os/exec"
	"syscall"
)

// endWithChildren lets the end of cmd's context also end the processes that cmd started.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
