package loader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
)

// PlanFormat is the version of a Plan's JSON. ReadPlan rejects every other one.
const PlanFormat = 1

// A Plan is what an operation would do. Its JSON does not contain the code, so [ReadPlan] takes the libraries.
type Plan struct {
	Format    int              `json:"format"`
	Op        Op               `json:"op"`
	Libraries []PlannedLibrary `json:"libraries"`
	Warnings  []Warning        `json:"warnings,omitempty"` // about the target as a whole
	Nodes     []NodeSteps      `json:"nodes"`
	// Clients announced within the last 15 minutes that they use the library that a retire removes, in any database.
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
	Digest     string `json:"digest"`
}

// NodeSteps are the steps of an operation on one node.
type NodeSteps struct {
	Node
	Server   Server    `json:"server,omitzero"`
	Problem  *Error    `json:"problem,omitempty"` // why the node refuses loads, or nil
	Warnings []Warning `json:"warnings,omitempty"`
	Steps    []Step    `json:"steps"` // one for each library, in the order of the arguments
}

// actionOn is what an operation does about a library that stands so on a primary.
func (s State) actionOn(op Op) Action {
	switch {
	case s == Foreign:
		return Action(Conflicting)
	case op == OpRetire && (s == Older || s == Newer || s == Drifted):
		return Delete // a tombstone replaces the library
	case op == OpRetire && s == Missing:
		return Bar // a tombstone keeps clients from loading it
	case op == OpRetire && (s == Same || s == Retired):
		return Gone
	case s == Missing || s == Retired:
		return Load
	case s == Older:
		return Upgrade
	case s == Newer && op == OpRollback:
		return Downgrade
	}
	return Action(s)
}

// Changes reports whether the step loads or removes a library.
func (s Step) Changes() bool {
	return slices.Contains([]Action{Load, Upgrade, Downgrade, Delete, Bar}, s.Action)
}

// Blocks reports whether an operator has to act first.
func (s Step) Blocks() bool {
	return slices.Contains([]Action{Action(Drifted), Action(Conflicting), Action(TooOld), Action(Unusable)}, s.Action)
}

// String is the action with its versions, "upgrade 1.0.0 -> 1.1.0".
func (s Step) String() string {
	switch s.Action {
	case Upgrade, Downgrade:
		return fmt.Sprintf("%s %s -> %s", s.Action, s.From, s.To)
	case Action(Newer), Delete:
		return string(s.Action) + " " + s.From
	}
	return strings.TrimSpace(string(s.Action) + " " + s.To)
}

// Blocking returns why a step of the node cannot be done, or nil. A node that refuses loads, and needs none, has no such step.
func (n NodeSteps) Blocking() *Error {
	if slices.ContainsFunc(n.Steps, func(s Step) bool { return s.State == Unusable }) {
		return n.Problem
	}
	return nil
}

// Changes reports whether a step loads or removes something.
func (p *Plan) Changes() bool { return p.has(Step.Changes) }

// Blocked reports whether a step prevents a complete deploy.
func (p *Plan) Blocked() bool { return p.has(Step.Blocks) }

func (p *Plan) has(wanted func(Step) bool) bool {
	return slices.ContainsFunc(p.Nodes, func(n NodeSteps) bool { return slices.ContainsFunc(n.Steps, wanted) })
}

// Loads returns the libraries that the plan loads, with their code, in the order of Libraries.
func (p *Plan) Loads() []*fcall.Library { return p.libs }

// Count returns the number of steps with an action.
func (p *Plan) Count(action Action) int {
	count := 0
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			if s.Action == action {
				count++
			}
		}
	}
	return count
}

// Summary counts the steps, "1 to load, 2 same, 1 drifted".
func (p *Plan) Summary() string {
	var parts []string
	for _, a := range []struct {
		action Action
		words  string
	}{
		{Load, "to load"},
		{Upgrade, "to upgrade"},
		{Downgrade, "to downgrade"},
		{Action(Same), "same"},
		{Action(Newer), "newer, kept"},
		{Follow, "to follow on replicas"},
		{Action(Drifted), "drifted"},
		{Action(Conflicting), "in conflict"},
		{Action(TooOld), "on servers that are too old"},
		{Action(Unusable), "unusable"},
	} {
		if n := p.Count(a.action); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, a.words))
		}
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

// Plan returns what a deploy of the libraries would do. It changes nothing. The plan contains the problems of single nodes; the
// error is about the whole target or the libraries.
func (t *Target) Plan(ctx context.Context, libs ...*fcall.Library) (*Plan, error) {
	return t.plan(ctx, "plan", false, libs)
}

// plan is Plan, for an operation of any name. With all it has every warning.
func (t *Target) plan(ctx context.Context, op string, all bool, libs []*fcall.Library) (*Plan, error) {
	if err := checkLibraries(op, libs); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	s.examine(ctx, states, libs, all)
	p := planFor(states, libs, OpDeploy)
	p.Warnings = s.warnings
	s.remember(ctx, p)
	return p, nil
}

// planFor decides what an operation does with the libraries on nodes in these states.
func planFor(states []NodeState, libs []*fcall.Library, op Op) *Plan {
	p := &Plan{Format: PlanFormat, Op: op, States: states, libs: libs}
	for _, lib := range libs {
		p.Libraries = append(p.Libraries, PlannedLibrary{Name: lib.Name, Version: lib.Version, ServerName: lib.ServerName, Digest: lib.Digest()})
	}
	for _, state := range states {
		n := NodeSteps{Node: state.Node, Server: state.Server, Problem: state.Problem, Warnings: state.Warnings}
		if state.Follows != "" && n.Problem != nil {
			n.Warnings, n.Problem = append(n.Warnings, unseen(state.Follows, state.Problem)), nil
		}
		for _, lib := range libs {
			n.Steps = append(n.Steps, stepFor(state, lib, op))
		}
		p.Nodes = append(p.Nodes, n)
	}
	p.refuseOld()
	return p
}

func stepFor(state NodeState, lib *fcall.Library, op Op) Step {
	step := compare(lib, state.Libraries)
	if !state.Readable {
		step.State = Unusable
	}
	step.Action = step.State.actionOn(op)
	if op == OpRetire {
		step.To = "" // a tombstone is no version
		if step.State == Same {
			step.From = ""
		}
		if step.State == Missing && lib.Code == "" {
			step.Action = Gone // nothing is known of such a library
		}
	}
	switch {
	case state.Follows != "":
		if step.Changes() || step.Blocks() {
			step.Action = Follow
		}
		return step
	case !state.Readable:
		step.Reason = state.Problem.Text
		return step
	case step.State == Foreign && op == OpRetire:
		step.Reason = "the library of that name was not generated by rlfunc; nothing was deleted; remove it with FUNCTION DELETE"
	case step.State == Foreign:
		step.Reason = foreignName(lib.ServerName)
	case step.State == Drifted && op == OpRollback:
		step.Reason = drift(lib, "the release to restore", step.Difference) + "; replace it with --replace-drifted, or choose another release with --to"
	case step.State == Drifted && op == OpDeploy:
		step.Reason = drift(lib, "this source", step.Difference) + "; give it a new version, or replace it with --replace-drifted"
	}
	block := func(state State, reason string) { step.State, step.Action, step.Reason = state, Action(state), reason }
	if step.Changes() || step.Action == Action(Drifted) {
		if why := conflictOf(lib.ServerName, bundle.Functions(lib.Code), state.Libraries); why != "" {
			block(Conflicting, why)
		}
	}
	if state.Problem != nil && step.Changes() {
		block(Unusable, state.Problem.Text)
	}
	return step
}

// refuseOld blocks the steps of libraries on nodes that are too old for them. A primary is, too, if one of its replicas is: it
// would replicate the library.
func (p *Plan) refuseOld() {
	refuse := func(s *Step, why string) {
		if s.State != Unusable && s.Action != Action(Newer) {
			s.State, s.Action, s.Reason = TooOld, Action(TooOld), why
		}
	}
	for i, lib := range p.libs {
		for _, n := range p.Nodes {
			why := n.Server.tooOldFor(lib)
			if why == "" || n.Server == (Server{}) { // a node without an answer
				continue
			}
			refuse(&n.Steps[i], why)
			for _, primary := range p.Nodes {
				if n.Follows == primary.Addr {
					refuse(&primary.Steps[i], "its replica "+n.Addr+": "+why)
				}
			}
		}
	}
}

// ReadPlan reads a deploy's plan that was saved as JSON. libs are the libraries that it was made for, in any order. If one is
// missing or has changed since, the error is ErrChanged. Other formats and other text are ErrPlan.
func ReadPlan(text []byte, libs ...*fcall.Library) (*Plan, error) {
	refuse := func(reason Reason, library, why string, cause error) (*Plan, error) {
		return nil, &Error{Op: "read the plan", Library: library, Reason: reason, Text: why, Cause: cause}
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return refuse(ErrPlan, "", "it is not a saved plan: "+err.Error(), err)
	}
	if head.Format != PlanFormat {
		return refuse(ErrPlan, "", fmt.Sprintf("its format is %d, and this version reads format %d; plan again", head.Format, PlanFormat), nil)
	}
	p := &Plan{}
	if err := json.Unmarshal(text, p); err != nil {
		return refuse(ErrPlan, "", "it is not a saved plan: "+err.Error(), err)
	}
	if p.Op != OpDeploy {
		return refuse(ErrPlan, "", "it is the plan of a "+string(p.Op)+"; make it again with `rlfunc "+string(p.Op)+"`", nil)
	}
	given := map[string]*fcall.Library{}
	for _, lib := range libs {
		if lib != nil {
			given[lib.ServerName] = lib
		}
	}
	for _, planned := range p.Libraries {
		lib := given[planned.ServerName]
		switch {
		case lib == nil:
			return refuse(ErrChanged, planned.ServerName, "the plan contains this library, and it is missing now; plan again", nil)
		case lib.Digest() != planned.Digest:
			return refuse(ErrChanged, planned.ServerName, "its source or version here has changed since the plan was made; plan again", nil)
		}
		p.libs = append(p.libs, lib)
	}
	if err := checkLibraries("read the plan", p.libs); err != nil {
		return nil, err
	}
	for _, n := range p.Nodes {
		if len(n.Steps) != len(p.libs) {
			return refuse(ErrPlan, "", "node "+n.Addr+" does not have one step for each library; plan again", nil)
		}
		for i, s := range n.Steps {
			if s.Library != p.libs[i].ServerName {
				return refuse(ErrPlan, s.Library, "it is not the library that the step of node "+n.Addr+" is for; plan again", nil)
			}
		}
	}
	return p, nil
}
