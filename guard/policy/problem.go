package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Problem is one error in a policy. File, Line and Column are zero for a policy in Go.
type Problem struct {
	File    string `json:"file"`             // name of the file, as the caller gave it
	Line    int    `json:"line,omitempty"`   // from 1
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Path    string `json:"path,omitempty"`   // such as endpoints[0].limits[1].window; "" for the whole policy
	Message string `json:"message"`          // such as "must be 1us to 3650d, got 0s"
}

// String returns file:line:col: path: message, without parts that are zero.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			b.WriteString(strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ":")
		}
		b.WriteByte(' ')
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// maxProblems is the most problems in an Error, besides one that counts the rest.
const maxProblems = 100

// An Error holds the problems of a policy by position, at least one. After 100 problems, one more counts the rest.
type Error struct {
	Problems []Problem
}

// Error returns one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

type problems []Problem

func (ps *problems) add(path, format string, args ...any) {
	*ps = append(*ps, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (ps problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if rest := len(ps) - maxProblems; rest > 0 {
		last := ps[maxProblems]
		ps = append(ps[:maxProblems:maxProblems], Problem{File: last.File, Line: last.Line, Column: last.Column, Message: fmt.Sprintf("and %d more problems", rest)})
	}
	return &Error{Problems: ps}
}
