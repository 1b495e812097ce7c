// Package usage has the one voice of errors about arguments and flags: "rlfunc COMMAND: what is wrong, what to give".
package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// An Error says that a command line is wrong. The command's name is printed before it.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Flag turns an error of the flags of cmd into an Error.
func Flag(cmd *cobra.Command, err error) error {
	return Errorf("%w (see `%s --help`)", err, cmd.CommandPath())
}

// None accepts no arguments.
func None(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Errorf("takes no arguments, got %s (see `%s --help`)", strings.Join(args, " "), cmd.CommandPath())
}

// One accepts one argument, which example shows.
func One(name, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return Errorf("needs one %s, such as %s; got %d arguments", name, example, len(args))
	}
}

// AtMostOne accepts one argument or none.
func AtMostOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < 2 {
			return nil
		}
		return Errorf("takes one %s at most; got %d arguments", name, len(args))
	}
}
