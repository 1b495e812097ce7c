package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// A usageError says that a command line is wrong. The command's name is printed before it.
type usageError struct{ error }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// flagError turns an error of the flags of cmd into a usageError.
func flagError(cmd *cobra.Command, err error) error {
	if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
		must := errors.Unwrap(wrong)
		switch kind := wrong.GetFlag().Value.Type(); {
		case strings.HasPrefix(kind, "int"):
			must = errors.New("must be a whole number")
		case kind == "bool":
			must = errors.New("must be true or false")
		}
		err = fmt.Errorf("--%s %w, got %q", wrong.GetFlag().Name, must, wrong.GetValue())
	}
	return usageErrorf("%w (see `%s --help`)", err, cmd.CommandPath())
}

// noArguments accepts no arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageErrorf("takes no arguments, got %s (see `%s --help`)", strings.Join(args, " "), cmd.CommandPath())
}

// oneArgument accepts one argument, which example shows.
func oneArgument(name, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return usageErrorf("needs one %s, such as %s; got %d arguments", name, example, len(args))
	}
}

// atMostOneArgument accepts one argument or none.
func atMostOneArgument(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < 2 {
			return nil
		}
		return usageErrorf("takes one %s at most; got %d arguments", name, len(args))
	}
}

// A durationValue is a flag whose value is written as in policies: 250ms, 90m, 30d.
type durationValue time.Duration

// durationFlag adds a flag to a command.
func durationFlag(cmd *cobra.Command, value *time.Duration, name, usage string) {
	cmd.Flags().Var((*durationValue)(value), name, usage)
}

// Type names the flag's values in help.
func (*durationValue) Type() string { return "duration" }

// String is empty for 0, so that help shows no default.
func (d *durationValue) String() string {
	if d == nil || *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Set implements the flag.
func (d *durationValue) Set(text string) error {
	span, err := policy.ParseDuration(text)
	*d = durationValue(span)
	return err
}
