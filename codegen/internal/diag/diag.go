// Package diag holds the generator's findings about a source file: position, message and rule.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Diagnostic is one finding at one position of a source file.
type Diagnostic struct {
	File    string `json:"file"`    // slash-separated, relative to the source root
	Line    int    `json:"line"`    // 1-based
	Col     int    `json:"col"`     // 1-based, in bytes
	Rule    string `json:"rule"`    // the rule's ID, as in docs/reference/vet.md
	Message string `json:"message"` // one line; says what is wrong and what to do
}

// String gives the form that editors parse: file:line:col: message (rule).
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", d.File, d.Line, d.Col, d.Message, d.Rule)
}

// Compare orders findings by file, line, column, rule and message.
func Compare(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
	)
}

// List is every finding of a run. Its error text has one finding per line.
type List []Diagnostic

// Add appends one finding.
func (l *List) Add(file string, line, col int, rule, format string, args ...any) {
	*l = append(*l, Diagnostic{File: file, Line: line, Col: col, Rule: rule, Message: fmt.Sprintf(format, args...)})
}

// Sort orders the findings, and drops exact repeats.
func (l *List) Sort() {
	slices.SortFunc(*l, Compare)
	*l = slices.Compact(*l)
}

// Error joins the findings with newlines.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns nil if there are no findings, and the sorted list otherwise.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	l.Sort()
	return l
}
