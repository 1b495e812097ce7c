package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// durationFlag is a flag that reads what policies and calls read: Go's durations and days, 90m, 30d, 1d12h.
type durationFlag struct{ value *time.Duration }

func addDuration(cmd *cobra.Command, value *time.Duration, name, usage string) {
	cmd.Flags().Var(durationFlag{value}, name, usage)
}

func (durationFlag) Type() string { return "duration" }

// String is empty for 0, so that help shows no default.
func (f durationFlag) String() string {
	if f.value == nil || *f.value == 0 {
		return ""
	}
	return f.value.String()
}

func (f durationFlag) Set(text string) error {
	bad := errors.New("must be a duration with its unit (us, ms, s, m, h, d), such as 90m or 1d")
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16) // 65535 days fit
	if err != nil {
		return bad
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest != "" || !ok {
		more, err := time.ParseDuration(rest)
		if err != nil || n > 0 && (more < 0 || d+more < 0) {
			return bad
		}
		d += more
	}
	*f.value = d
	return nil
}
