package engines

import "syscall"

// dieWithParent has the kernel end a server when its test process is killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
