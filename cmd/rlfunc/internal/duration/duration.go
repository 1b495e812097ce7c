// Package duration reads durations with days, as policies, calls and flags write them: 250ms, 90m, 1d12h, 30d.
package duration

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const units = "must be a duration with its unit (us, ms, s, m, h, d)"

// Parse reads a duration.
func Parse(text string) (time.Duration, error) {
	invalid := fmt.Errorf("%s, got %q", units, text)
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, invalid
	}
	d := time.Duration(n) * 24 * time.Hour
	if hasDays && rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || hasDays && (more < 0 || d+more < 0 || rest == "0") {
		return 0, invalid
	}
	return d + more, nil
}

// A Value is a duration that a flag sets.
type Value time.Duration

// Flag adds a flag to a command.
func Flag(cmd *cobra.Command, value *time.Duration, name, usage string) {
	cmd.Flags().Var((*Value)(value), name, usage)
}

// Type names the flag's values in help.
func (*Value) Type() string { return "duration" }

// String is empty for 0, so that help shows no default.
func (v *Value) String() string {
	if v == nil || *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Set implements the flag.
func (v *Value) Set(text string) error {
	d, err := Parse(text)
	if err != nil {
		return errors.New(units + ", such as 90m or 1d")
	}
	*v = Value(d)
	return nil
}
