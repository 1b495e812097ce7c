package loader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
)

// PlanFormat is the version of a Plan's JSON. ReadPlan rejects every other one.
const PlanFormat = 3

// A Plan is what an operation would do. Its JSON does not contain the code, so [ReadPlan] takes the libraries.
type Plan struct {
	Format    int              `json:"format"`
	Op        Op               `json:"op"`
	Libraries []PlannedLibrary `json:"libraries"`
	Warnings  []Warning        `json:"warnings,omitempty"` // about the target as a whole
	Nodes     []NodeSteps      `json:"nodes"`
	// Clients are connected now and use the library that a retire removes.
	Clients []Client `json:"used_by,omitempty"`
	// States are what the plan has read, with the code that it replaces. A plan that was saved has none.
	States []NodeState `json:"-"`

	libs []*fcall.Library
}

// A PlannedLibrary is a library that a Plan was made for.
type PlannedLibrary struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	ServerName string `json:"server_name"`
	Digest     string `json:"digest,omitempty"` // none for a retire
	// After is the ID of the last operation on the library, as in the history: one that has begun since makes the plan invalid.
	After string `json:"after,omitempty"`
}

// NodeSteps are the steps of an operation on one node.
type NodeSteps struct {
	Node
	Server   Server    `json:"server,omitzero"`
	Problem  *Error    `json:"problem,omitempty"` // why the node refuses loads, or of a Result: that replicas have not confirmed them
	Warnings []Warning `json:"warnings,omitempty"`
	Steps    []Step    `json:"steps"` // one for each library, in the order of the arguments
}

// Blocking returns why a step of the node cannot be done, or nil. A node that refuses loads, and needs none, has no such step.
func (n NodeSteps) Blocking() *Error {
	if slices.ContainsFunc(n.Steps, func(s Step) bool { return s.State == Unusable }) {
		return n.Problem
	}
	return nil
}

// Changes reports whether a step loads or removes something.
func (p *Plan) Changes() bool { return p.Count(Step.Changes) > 0 }

// Same reports whether every node, replicas too, holds every library byte for byte.
func (p *Plan) Same() bool { return p.Count(func(s Step) bool { return s.State != Same }) == 0 }

// Loads returns the libraries that the plan loads, with their code, in the order of Libraries.
func (p *Plan) Loads() []*fcall.Library { return p.libs }

// Count returns the number of steps that are wanted.
func (p *Plan) Count(wanted func(Step) bool) (count int) {
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			if wanted(s) {
				count++
			}
		}
	}
	return count
}

// Summary counts the steps, "1 to load, 2 same, 1 drifted".
func (p *Plan) Summary() string {
	var steps []Step
	for _, n := range p.Nodes {
		steps = append(steps, n.Steps...)
	}
	return tally(steps, func(s Step) string {
		if s.Action != "" {
			return "to " + string(s.Action)
		}
		return string(s.State)
	})
}

// tally counts words of steps, "3 loaded, 1 same".
func tally(steps []Step, word func(Step) string) string {
	count := map[string]int{}
	var order []string
	for _, s := range steps {
		if count[word(s)]++; count[word(s)] == 1 {
			order = append(order, word(s))
		}
	}
	for i, w := range order {
		order[i] = fmt.Sprintf("%d %s", count[w], w)
	}
	return strings.Join(order, ", ")
}

// Plan returns what a deploy of the libraries would do. It changes nothing. The plan contains the problems of single nodes; the
// error is about the whole target or the libraries.
func (t *Target) Plan(ctx context.Context, libs ...*fcall.Library) (*Plan, error) {
	if err := checkLibraries("plan", libs); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	s.examine(ctx, states, false)
	p := planFor(states, libs, OpDeploy)
	p.Warnings = s.warnings
	s.records.remember(ctx, p)
	return p, nil
}

// planFor decides what an operation does with the libraries on nodes in these states.
func planFor(states []NodeState, libs []*fcall.Library, op Op) *Plan {
	p := &Plan{Format: PlanFormat, Op: op, States: states, libs: libs}
	for _, lib := range libs {
		p.Libraries = append(p.Libraries, PlannedLibrary{Name: lib.Name, Version: lib.Version, ServerName: lib.ServerName, Digest: digest(lib)})
	}
	for _, state := range states {
		n := NodeSteps{Node: state.Node, Server: state.Server, Problem: state.Problem, Warnings: state.Warnings}
		if state.Follows != "" && n.Problem != nil {
			n.Warnings, n.Problem = append(n.Warnings, warning("replica_unread", "this replica of "+state.Follows+" cannot be read: "+state.Problem.Text, "")), nil
		}
		for _, lib := range libs {
			n.Steps = append(n.Steps, stepFor(state, lib, op))
		}
		p.Nodes = append(p.Nodes, n)
	}
	return p
}

// ReadPlan reads a deploy's plan that was saved as JSON. libs are the libraries that it was made for, in any order. If one is
// missing or has changed since, the error is ErrChanged. Other formats and other text are ErrPlan.
func ReadPlan(text []byte, libs ...*fcall.Library) (*Plan, error) {
	refuse := func(reason Reason, library, why string) (*Plan, error) {
		return nil, &Error{Op: "read the plan", Library: library, Reason: reason, Text: why}
	}
	p := &Plan{}
	err := json.Unmarshal(text, p) // reads the format also where other fields have another form
	switch {
	case err != nil && (p.Format == 0 || p.Format == PlanFormat):
		return refuse(ErrPlan, "", "it is not a saved plan: "+err.Error())
	case p.Format != PlanFormat:
		return refuse(ErrPlan, "", fmt.Sprintf("another version of rlfunc saved it (its format is %d, and this version reads format %d); plan again", p.Format, PlanFormat))
	case p.Op != OpDeploy:
		return refuse(ErrPlan, "", "it is the plan of a "+string(p.Op)+"; make it again with `rlfunc "+string(p.Op)+"`")
	}
	for _, planned := range p.Libraries {
		i := slices.IndexFunc(libs, func(lib *fcall.Library) bool { return lib != nil && lib.ServerName == planned.ServerName })
		if i < 0 || libs[i].Digest() != planned.Digest {
			return refuse(ErrChanged, planned.ServerName, "its source or version here has changed since the plan was made, or it is gone; plan again")
		}
		p.libs = append(p.libs, libs[i])
	}
	if err := checkLibraries("read the plan", p.libs); err != nil {
		return nil, err
	}
	for _, n := range p.Nodes {
		if !slices.EqualFunc(n.Steps, p.libs, func(s Step, lib *fcall.Library) bool { return s.Library == lib.ServerName }) {
			return refuse(ErrPlan, "", "node "+n.Addr+" does not have one step for each library; plan again")
		}
	}
	return p, nil
}
