package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Problem is one thing that is wrong with a policy.
type Problem struct {
	File    string // as it was given; "" for a policy written in Go
	Line    int    // from 1; 0 for a policy written in Go
	Column  int    // from 1, in characters; 0 for a policy written in Go
	Path    string // endpoints[0].limits[1].window; "" for the whole
	Message string // must be 1us to 3650d, got 0s
}

// String returns file:line:col: path: message, without what is not known.
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

// maxProblems is how many problems an Error lists, beside one that counts the rest.
const maxProblems = 100

// An Error is what is wrong with a policy, in order of place: never empty. Behind 100 problems it only counts the rest.
type Error struct {
	Problems []Problem
}

// Error returns a line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong.
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
