//go:build !unix

package plugins

import "os/exec"

// endWithChildren does nothing: without process groups, a plugin's own processes may outlive it.
func endWithChildren(*exec.Cmd) {}
