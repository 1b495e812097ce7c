//go:build !unix

package main

import "time"

// cpuTime returns the time since start, because the CPU time of the process is unknown here.
func cpuTime(start time.Time) time.Duration { return time.Since(start) }
