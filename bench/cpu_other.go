//go:build !unix

package main

import "time"

// cpuTime is the time since start: what the process has used is not known here.
func cpuTime(start time.Time) time.Duration { return time.Since(start) }
