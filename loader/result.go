package loader

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An Outcome is the result of one step: one library on one node.
type Outcome string

// The outcomes.
const (
	Loaded         Outcome = "loaded"          // it was missing
	Upgraded       Outcome = "upgraded"        // it replaced a lower version
	Replaced       Outcome = "replaced"        // it replaced other bytes of the same version
	Already        Outcome = "same"            // the node had it, byte for byte
	KeptNewer      Outcome = "newer"           // the node has a higher version
	Downgraded     Outcome = "downgraded"      // a rollback replaced a higher version with it
	Deleted        Outcome = "deleted"         // a retire replaced it with a tombstone
	AlreadyMissing Outcome = "already_missing" // a retire found no library
	Failed         Outcome = "failed"          // Problem says why
	Followed       Outcome = "followed"        // a replica received it from its primary
	Unverified     Outcome = "unverified"      // a replica could not be read, or lags; a warning says why
	NotStarted     Outcome = "not_started"     // an earlier failure or the plan prevented it, see Problem; for a replica see its primary's step
)

// ResultFormat is the version of a Result's JSON.
const ResultFormat = 1

// A Result is the outcome of an Apply, a Retire or an Ensure.
type Result struct {
	Format   int          `json:"format"`
	Op       Op           `json:"op,omitempty"`
	Warnings []Warning    `json:"warnings,omitempty"`
	Problem  *Error       `json:"problem,omitempty"` // of the whole operation: a lost lock
	Nodes    []NodeResult `json:"nodes"`
}

// A NodeResult is the Result on one node.
type NodeResult struct {
	Node
	Warnings []Warning    `json:"warnings,omitempty"` // problems that are not failures
	Steps    []StepResult `json:"steps"`
}

// Summary counts the node's steps by outcome, "3 loaded, 1 same".
func (r NodeResult) Summary() string {
	count := map[Outcome]int{}
	var order []Outcome
	for _, s := range r.Steps {
		if count[s.Outcome] == 0 {
			order = append(order, s.Outcome)
		}
		count[s.Outcome]++
	}
	var parts []string
	for _, o := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[o], strings.ReplaceAll(string(o), "_", " ")))
	}
	return strings.Join(parts, ", ")
}

// A StepResult is the outcome for one library on one node. Unless Outcome is Failed, NotStarted or Unverified, the loader read
// the bytes back or did not change them.
type StepResult struct {
	Library string  `json:"library"` // "ratelimit_v1"
	Outcome Outcome `json:"outcome"`
	From    string  `json:"from,omitempty"`  // the version before
	Found   string  `json:"found,omitempty"` // the version afterwards, if known
	Problem *Error  `json:"problem,omitempty"`
}

// Err returns nil if every step succeeded, and otherwise the errors of the failed steps, joined. Steps that were not tried
// because of an interruption have one error together.
func (r *Result) Err() error {
	var problems []error
	var interrupted *Error
	steps, left := 0, 0
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if n.Follows == "" {
				steps++
			}
			switch {
			case s.Problem == nil:
			case s.Problem.Reason == ErrInterrupted:
				interrupted, left = s.Problem, left+1
			default:
				problems = append(problems, s.Problem)
			}
		}
	}
	if interrupted != nil {
		problems = append(problems, &Error{
			Op: string(r.Op), Reason: ErrInterrupted, Cause: interrupted.Cause,
			Text: fmt.Sprintf("interrupted: %d of %d steps were not tried; run it again to finish", left, steps),
		})
	}
	if r.Problem != nil && !slices.ContainsFunc(problems, func(err error) bool { return errors.Is(err, r.Problem.Reason) }) {
		problems = append(problems, r.Problem)
	}
	if len(problems) == 1 {
		return problems[0]
	}
	return errors.Join(problems...)
}

func (o Outcome) changed() bool {
	return o == Loaded || o == Upgraded || o == Replaced || o == Downgraded || o == Deleted
}

// Changed counts the steps that loaded or removed a library.
func (r *Result) Changed() int {
	changed := 0
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if s.Outcome.changed() {
				changed++
			}
		}
	}
	return changed
}
