package loader

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
)

// Ensure is for a service when it starts: it loads the library on primaries that lack it, and never replaces one, so an old pod
// cannot undo a deploy. If another primary has a higher version, Ensure loads that: services of that version call this primary, too.
// Many replicas of a service may call it at once.
//
// A higher version of the same major version needs no action. A lower version (ErrOlder), other bytes of the same version
// (ErrDrifted), a name of another library (ErrConflict) and a retired library (ErrRetired) are errors: the first one needs a
// deploy, the others an operator. ErrTooOld is a primary, or a replica of one, that is older than the library requires. The
// Result lists what each primary holds, even beside an error; it is nil if the library or the client is invalid.
//
// The user needs +function|list, +function|load for missing libraries, and +cluster|nodes on a cluster. For a library that requires
// a version of the server, +info lets Ensure find replicas.
func Ensure(ctx context.Context, client fcall.Caller, lib *fcall.Library) (*Result, error) {
	if err := checkLibraries("ensure", []*fcall.Library{lib}); err != nil {
		return nil, err
	}
	s, err := NewTarget(client).open(ctx, requiresServer(lib))
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := make([]NodeState, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) { states[i] = n.stateFor(ctx, lib) })
	highest := lib
	if l := present(states, lib.ServerName); l != nil && compare(lib, []LoadedLibrary{*l}).State == Newer {
		highest = &fcall.Library{Name: l.Name, Version: l.Version, ServerName: l.ServerName, Code: l.Code}
	}
	p := planFor(states, []*fcall.Library{lib}, OpDeploy)
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() {
			n.ensure(ctx, lib, highest, &p.Nodes[i])
		}
	})
	r := &Result{Format: ResultFormat}
	for _, n := range p.Nodes {
		if n.Follows == "" {
			r.Nodes = append(r.Nodes, n)
		}
	}
	return r, r.Err()
}

// stateFor reads what Ensure needs of a node: the libraries of a primary, and the version of each server if the library requires
// one.
func (n *node) stateFor(ctx context.Context, lib *fcall.Library) NodeState {
	state := NodeState{Node: n.Node, Problem: n.problem}
	if requiresServer(lib) && n.problem == nil {
		if a := n.ask(ctx); a.err == nil {
			state.Server = a.server
		} else if state.Problem = classify("ensure", lib.ServerName, n.Addr, false, a.err); n.loadable() {
			return state
		}
	}
	if n.loadable() {
		state.Libraries, state.Problem = n.look(ctx, "ensure")
		state.Readable = state.Problem == nil
	}
	return state
}

// ensure loads highest, which is lib or a higher version of it, if the node has no such library.
func (n *node) ensure(ctx context.Context, lib, highest *fcall.Library, r *NodeSteps) {
	s := &r.Steps[0]
	if s.State == Missing {
		n.load(ctx, highest, s)
		if s.Problem != nil && s.Problem.Reason == ErrChanged {
			// Another replica of the service, of another version, was faster.
			if state := n.stateFor(ctx, lib); state.Readable {
				*s = planFor([]NodeState{state}, []*fcall.Library{lib}, OpDeploy).Nodes[0].Steps[0]
			}
		}
	}
	if s.Outcome == "" {
		s.settle(n, lib, r.Problem)
	}
	if s.Problem != nil {
		s.Problem = s.Problem.at("ensure", lib.ServerName)
	}
}

// settle sets what an Ensure comes to that loads nothing.
func (s *Step) settle(n *node, lib *fcall.Library, problem *Error) {
	s.Found = s.From
	fail := func(reason Reason, text string) {
		s.Outcome, s.Problem = Failed, &Error{Op: "ensure", Library: lib.ServerName, Node: n.Addr, Reason: reason, Text: text}
	}
	switch s.State {
	case Same:
		s.Outcome = Already
	case Newer:
		s.Outcome = KeptNewer
	case Older:
		fail(ErrOlder, "the node has "+s.From+", and this client was generated from "+lib.Version+"; run `rlfunc deploy`")
	case Drifted:
		fail(ErrDrifted, drift(lib, "this source", s.Difference)+"; `rlfunc deploy --replace-drifted` replaces it")
	case Retired:
		fail(ErrRetired, "it was retired at "+clockTime(s.Retired)+"; upgrade this client, or restore the library with `rlfunc deploy` or `rlfunc rollback`")
	case TooOld:
		fail(ErrTooOld, s.Reason)
	case Foreign:
		fail(ErrConflict, s.Reason)
	case Conflicting:
		fail(ErrConflict, s.Reason+"; delete that library or rename this one")
	default:
		s.Outcome, s.Problem = Failed, problem
	}
}
