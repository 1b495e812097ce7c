package loader

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An Outcome is what became of one library on one node.
type Outcome string

// The outcomes.
const (
	Loaded     Outcome = "loaded"      // it was absent
	Upgraded   Outcome = "upgraded"    // it took the place of a lower version
	Replaced   Outcome = "replaced"    // it took the place of other bytes of the same version
	Already    Outcome = "same"        // it was there, byte for byte
	LeftNewer  Outcome = "newer"       // a higher version is there
	Downgraded Outcome = "downgraded"  // a rollback put it in the place of a higher version
	Deleted    Outcome = "deleted"     // a retire put a tombstone in its place
	Absent     Outcome = "absent"      // a retire found nothing to remove
	Failed     Outcome = "failed"      // Problem says why
	Followed   Outcome = "followed"    // a replica got it from its primary
	Unverified Outcome = "unverified"  // a replica could not be read, or is behind; a warning says why
	NotStarted Outcome = "not_started" // an earlier failure of the node, or the plan, stood in the way; Problem says which. On a replica: its primary's step says why
)

// ResultFormat is the version of a Result's JSON.
const ResultFormat = 1

// A Result is what an Apply, a Retire or an Ensure did.
type Result struct {
	Format   int          `json:"format"`
	Op       Op           `json:"op,omitempty"`
	Warnings []Warning    `json:"warnings,omitempty"`
	Problem  *Error       `json:"problem,omitempty"` // of the operation as a whole: a lock that was lost
	Nodes    []NodeResult `json:"nodes"`
}

// A NodeResult is what was done on one node.
type NodeResult struct {
	Node
	Warnings []Warning    `json:"warnings,omitempty"` // what does not make the result a failure
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

// A StepResult is what was done about one library on one node. Unless Outcome is Failed,
// NotStarted or Unverified, the bytes were read back, or left alone.
type StepResult struct {
	Library string  `json:"library"` // "ratelimit_v1"
	Outcome Outcome `json:"outcome"`
	From    string  `json:"from,omitempty"`  // the version before
	Found   string  `json:"found,omitempty"` // the version afterwards, where it is known
	Problem *Error  `json:"problem,omitempty"`
}

// Err is nil if every step came to a good end, and otherwise the error of the one that did not, or all of them joined. The steps that an
// interruption kept from their beginning have one error.
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

// Changed counts the steps that put a library on a node, or removed it.
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
