// Package exitcode is the one place that defines what rlfunc exits with.
package exitcode

import (
	"fmt"
	"strings"
)

// A Code is an exit code. As an error it ends the command without a message of its own.
type Code int

// The codes of every command.
const (
	OK          Code = 0
	Error       Code = 1
	Findings    Code = 2
	Breaking    Code = 3
	Interrupted Code = 130
	Terminated  Code = 143
)

// Table lists the codes and their meanings.
var Table = []struct {
	Code    Code
	Meaning string
}{
	{OK, "The command did its job and found nothing to report."},
	{Error, "The command failed, its arguments are wrong, it ran out of time (--timeout), or the operator declined."},
	{Findings, "The command did its job and reports something: differences, findings, changes to make, or a refusal."},
	{Breaking, "plan and deploy: the deploy would break running clients or stored state. deploy has loaded nothing."},
	{Interrupted, "SIGINT (Ctrl-C) interrupted the command. serve exits with 0: it drains, also at --timeout."},
	{Terminated, "SIGTERM ended the command. serve exits with 0."},
}

// Text returns Table as lines.
func Text() string {
	var b strings.Builder
	for _, row := range Table {
		fmt.Fprintf(&b, "%5d  %s\n", row.Code, row.Meaning)
	}
	return b.String()
}

func (c Code) Error() string { return fmt.Sprintf("exit %d", int(c)) }
