package loader

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An Outcome says what was done: in one step, or in a whole operation.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // what the step's Action says; on a replica, the primary's change has reached it
	Failed  Outcome = "failed"  // Problem says why
	Skipped Outcome = "skipped" // the State needed nothing, or Problem says why it was not tried

	// Of an operation, besides Done and Failed, which then means that nothing was changed.
	Unfinished Outcome = "unfinished" // it runs, or its process died; running it again then finishes it
	Partly     Outcome = "partly"     // some nodes were changed, others failed
)

// Word says in one word what came of a step, and which Action it was: "loaded", "upgraded", "same", "failed".
func (s Step) Word() string {
	switch {
	case s.Outcome == Done && s.Action != "":
		return strings.TrimSuffix(string(s.Action), "e") + "ed"
	case s.Outcome == Done:
		return "replaced"
	case s.Outcome == Skipped && s.Problem == nil:
		return string(s.State)
	}
	return string(s.Outcome)
}

// A Result is the outcome of an Apply or an Ensure.
type Result struct {
	Op       Op          `json:"op,omitempty"`
	Warnings []Warning   `json:"warnings,omitempty"`
	Nodes    []NodeSteps `json:"nodes"`
}

// Words counts the node's steps by what came of them, "3 loaded, 1 same".
func (n NodeSteps) Words() string { return tally(n.Steps, Step.Word) }

// problems returns what failed, by node and step.
func (r *Result) problems() (all []*Error) {
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if s.Problem != nil {
				all = append(all, s.Problem)
			}
		}
		if n.Problem != nil && n.Problem.Reason == ErrReplication {
			all = append(all, n.Problem)
		}
	}
	return all
}

// Err returns nil if every step succeeded and every replica confirmed it, and otherwise the errors, joined. Steps that were not tried
// because of an interruption have one error together.
func (r *Result) Err() error {
	var problems []error
	var interrupted *Error
	left := 0
	for _, p := range r.problems() {
		if p.Reason == ErrInterrupted {
			interrupted, left = p, left+1
			continue
		}
		problems = append(problems, p)
	}
	if interrupted != nil {
		problems = append(problems, &Error{
			Op: string(r.Op), Reason: ErrInterrupted, Cause: interrupted.Cause, Text: fmt.Sprintf("interrupted: %d steps were not tried; run it again to finish", left),
		})
	}
	return errors.Join(problems...)
}

// Unconfirmed reports whether all that is wrong is that a replica has not confirmed what its primary holds.
func (r *Result) Unconfirmed() bool {
	problems := r.problems()
	return len(problems) > 0 && !slices.ContainsFunc(problems, func(p *Error) bool { return p.Reason != ErrReplication })
}

// Changed counts the steps on primaries that loaded or removed a library.
func (r *Result) Changed() (changed int) {
	for _, n := range r.Nodes {
		if n.Follows == "" {
			changed += n.changed()
		}
	}
	return changed
}

func (n NodeSteps) changed() (changed int) {
	for _, s := range n.Steps {
		if s.Outcome == Done {
			changed++
		}
	}
	return changed
}
