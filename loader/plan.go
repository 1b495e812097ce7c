package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
)

// An Action is the step of a deploy for one library on one node.
type Action string

// The actions. Load, Upgrade and Downgrade load a library. Keep, KeepNewer and Follow do nothing. The others block a deploy.
const (
	Load        Action = "load"      // the node lacks it
	Upgrade     Action = "upgrade"   // the node has a lower version, which is replaced
	Keep        Action = "same"      // the node has it, byte for byte
	KeepNewer   Action = "newer"     // the node has a higher version, which stays
	Drift       Action = "drifted"   // the node has the same version with other bytes
	Conflicting Action = "conflict"  // another library has one of its names
	Unusable    Action = "unusable"  // the node cannot be read, or refuses loads
	TooOld      Action = "too_old"   // the node, or a replica of it, is older than the library requires
	Downgrade   Action = "downgrade" // the node has a higher version, which a rollback replaces
	Follow      Action = "follow"    // the node is a replica, and receives it from its primary
)

// Changes reports whether the action loads a library.
func (a Action) Changes() bool { return a == Load || a == Upgrade || a == Downgrade }

// Blocks reports whether an operator has to act first.
func (a Action) Blocks() bool { return a == Drift || a == Conflicting || a == Unusable || a == TooOld }

// PlanFormat is the version of a Plan's JSON. ReadPlan rejects every other one.
const PlanFormat = 1

// A Plan is what a deploy would do. Its JSON does not contain the code, so [ReadPlan] takes the libraries.
type Plan struct {
	Format    int              `json:"format"`
	Op        Op               `json:"op"` // OpDeploy or OpRollback
	Libraries []PlannedLibrary `json:"libraries"`
	Warnings  []Warning        `json:"warnings,omitempty"` // about the target as a whole
	Nodes     []NodePlan       `json:"nodes"`

	libs []*fcall.Library
}

// A PlannedLibrary is a library that a Plan was made for.
type PlannedLibrary struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	ServerName string `json:"server_name"`
	Digest     string `json:"digest"`
}

// A NodePlan is a Plan for one node.
type NodePlan struct {
	Node
	Server   Server    `json:"server"`
	Problem  *Error    `json:"problem,omitempty"` // why the node refuses loads, or nil
	Warnings []Warning `json:"warnings,omitempty"`
	Steps    []Step    `json:"steps"` // one for each library, in the order of the arguments
}

// A Step is a Plan for one library on one node.
type Step struct {
	Library    string      `json:"library"` // "ratelimit_v1"
	Action     Action      `json:"action"`
	From       string      `json:"from,omitempty"`        // the version on the node, if known
	FromDigest string      `json:"from_digest,omitempty"` // of the code on the node
	To         string      `json:"to"`                    // the version of the source
	Conflict   *Conflict   `json:"conflict,omitempty"`
	Difference *Difference `json:"difference,omitempty"` // of Drift: the first difference
	Reason     string      `json:"reason,omitempty"`     // why it blocks
}

// String is the action with its versions, "upgrade 1.0.0 -> 1.1.0".
func (s Step) String() string {
	switch s.Action {
	case Upgrade, Downgrade:
		return fmt.Sprintf("%s %s -> %s", s.Action, s.From, s.To)
	case KeepNewer:
		return fmt.Sprintf("newer %s", s.From)
	}
	return fmt.Sprintf("%s %s", s.Action, s.To)
}

// A Change is a Step and its node.
type Change struct {
	Node Node
	Step
}

// Blocking returns why a step of the node cannot be done, or nil. A node that refuses loads, and needs none, has no such step.
func (n NodePlan) Blocking() *Error {
	if slices.ContainsFunc(n.Steps, func(s Step) bool { return s.Action == Unusable }) {
		return n.Problem
	}
	return nil
}

// Changes lists the steps that load something.
func (p *Plan) Changes() []Change { return p.pick(Action.Changes) }

// Blocked lists the steps that prevent a complete deploy.
func (p *Plan) Blocked() []Change { return p.pick(Action.Blocks) }

func (p *Plan) pick(wanted func(Action) bool) []Change {
	var picked []Change
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			if wanted(s.Action) {
				picked = append(picked, Change{Node: n.Node, Step: s})
			}
		}
	}
	return picked
}

// Loads returns the libraries that the plan loads, with their code, in the order of Libraries.
func (p *Plan) Loads() []*fcall.Library { return p.libs }

// Summary counts the steps of each action.
func (p *Plan) Summary() Summary {
	s := Summary{}
	for _, n := range p.Nodes {
		for _, step := range n.Steps {
			s[step.Action]++
		}
	}
	return s
}

// A Summary is a number of steps by action.
type Summary map[Action]int

// String is like "1 to load, 2 same, 1 drifted"; actions without a step are left out.
func (s Summary) String() string {
	var parts []string
	for _, a := range []struct {
		action Action
		words  string
	}{
		{Load, "to load"},
		{Upgrade, "to upgrade"},
		{Downgrade, "to downgrade"},
		{Keep, "same"},
		{KeepNewer, "newer, kept"},
		{Follow, "to follow on replicas"},
		{Drift, "drifted"},
		{Conflicting, "in conflict"},
		{TooOld, "on servers that are too old"},
		{Unusable, "unusable"},
	} {
		if n := s[a.action]; n > 0 {
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
	if err := checkLibraries("plan", libs); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	s.preflight(ctx, states, libs)
	p := planFor(states, libs, OpDeploy)
	p.Warnings = append(s.warnings, retiredBefore(states, libs)...)
	s.remember(ctx, p)
	return p, nil
}

func (p *Plan) op() Op {
	if p.Op == "" {
		return OpDeploy
	}
	return p.Op
}

func planFor(states []NodeState, libs []*fcall.Library, op Op) *Plan {
	p := &Plan{Format: PlanFormat, Op: op, libs: libs}
	for _, lib := range libs {
		p.Libraries = append(p.Libraries, PlannedLibrary{Name: lib.Name, Version: lib.Version, ServerName: lib.ServerName, Digest: lib.Digest()})
	}
	for _, state := range states {
		n := NodePlan{Node: state.Node, Server: state.Server, Problem: state.Problem, Warnings: state.Warnings}
		step := stepFor
		if state.Follows != "" {
			step = followFor
			if n.Problem != nil {
				n.Warnings, n.Problem = append(n.Warnings, unseen(state)), nil
			}
		}
		for _, lib := range libs {
			n.Steps = append(n.Steps, step(state, lib, op))
		}
		p.Nodes = append(p.Nodes, n)
	}
	p.refuseOld()
	return p
}

func stepFor(state NodeState, lib *fcall.Library, op Op) Step {
	if !state.Readable {
		return Step{Library: lib.ServerName, Action: Unusable, To: lib.Version, Reason: state.Problem.Text}
	}
	found := compare(lib, state.Libraries)
	step := Step{Library: lib.ServerName, From: found.Found, FromDigest: found.Digest, To: lib.Version}
	switch found.State {
	case Same:
		step.Action = Keep
	case Newer:
		step.Action = KeepNewer
		if op == OpRollback {
			step.Action = Downgrade
		}
	case Missing, Retired:
		step.Action = Load
	case Older:
		step.Action = Upgrade
	case Drifted:
		step.Action, step.Difference = Drift, found.Difference
		step.Reason = drift(lib, "this source", found.Difference) + "; give it a new version, or replace it with --replace-drifted"
		if op == OpRollback {
			step.Reason = drift(lib, "the release to restore", found.Difference) + "; replace it with --replace-drifted, or choose another release with --to"
		}
	default:
		step.Action, step.Conflict = Conflicting, &Conflict{Holder: lib.ServerName}
		step.Reason = step.Conflict.String()
	}
	if step.Action.Changes() || step.Action == Drift {
		if c := conflictOf(lib.ServerName, bundle.Functions(lib.Code), state.Libraries); c != nil {
			step.Action, step.Conflict, step.Reason = Conflicting, c, c.String()
		}
	}
	if state.Problem != nil && step.Action.Changes() {
		step.Action, step.Reason = Unusable, state.Problem.Text
	}
	return step
}
