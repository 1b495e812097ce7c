package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/loader"
)

// The words that actions, outcomes and states of libraries begin with. Others are yellow.
var (
	greenStates = []string{"same", "follow", "followed", "loaded", "upgraded", "downgraded", "replaced", "deleted"}
	redStates   = []string{"conflict", "drifted", "failed", "foreign", "missing", "too_old", "unusable", "problem"}
)

// paintState colors a text that begins with a state.
func paintState(style terminal.Style, text string) string {
	word, _, _ := strings.Cut(text, " ")
	switch {
	case slices.Contains(greenStates, word):
		return style.Green(text)
	case slices.Contains(redStates, word):
		return style.Red(text)
	}
	return style.Yellow(text)
}

// paintStates colors the cells of the column that holds states.
func paintStates(style terminal.Style, column int) func(int, string) string {
	return func(i int, cell string) string {
		if i != column {
			return cell
		}
		return paintState(style, cell)
	}
}

// nodeProblems joins the problems of nodes.
func nodeProblems[N any](nodes []N, problem func(N) *loader.Error) error {
	var all []error
	for _, node := range nodes {
		if p := problem(node); p != nil {
			all = append(all, p)
		}
	}
	return errors.Join(all...)
}
