package loader

import (
	"context"
	"slices"

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
	tooOld := s.tooOld(ctx, "ensure", lib)
	primaries := slices.DeleteFunc(slices.Clone(s.nodes), func(n *node) bool { return !n.loadable() })
	states := make([]NodeState, len(primaries))
	onEach(primaries, func(i int, n *node) {
		states[i].Libraries, states[i].Problem = n.look(ctx, "ensure")
	})
	highest := lib
	if l := present(states, lib.ServerName); l != nil && compare(lib, []LoadedLibrary{*l}).State == Newer {
		highest = &fcall.Library{Name: l.Name, Version: l.Version, ServerName: l.ServerName, Code: l.Code}
	}
	r := &Result{Format: ResultFormat, Nodes: make([]NodeResult, len(primaries))}
	onEach(primaries, func(i int, n *node) {
		r.Nodes[i] = NodeResult{Node: n.Node, Steps: []StepResult{n.ensure(ctx, lib, highest, states[i], tooOld[n.Addr])}}
	})
	return r, r.Err()
}

// ensure loads highest, which is lib or a higher version of it, if the node has no such library.
func (n *node) ensure(ctx context.Context, lib, highest *fcall.Library, state NodeState, tooOld *Error) StepResult {
	if state.Problem != nil {
		return StepResult{Library: lib.ServerName, Outcome: Failed, Problem: state.Problem.at("ensure", lib.ServerName)}
	}
	found := compare(lib, state.Libraries)
	if tooOld != nil && found.State != Newer {
		return StepResult{Library: lib.ServerName, Outcome: Failed, From: found.Found, Found: found.Found, Problem: tooOld}
	}
	r := settled(n, lib, found)
	if found.State == Missing {
		r = n.load(ctx, nil, highest, found)
		if r.Problem != nil && r.Problem.Reason == ErrChanged {
			// Another replica of the service, of another version, was faster.
			if loaded, err := listAll(ctx, n.Conn); err == nil {
				found = compare(lib, loaded)
				if found.State != Missing {
					r = settled(n, lib, found)
				}
			}
		}
	}
	if r.Problem != nil {
		r.Problem = r.Problem.at("ensure", lib.ServerName)
	}
	return r
}

// settled returns the result of an Ensure that finds the name taken.
func settled(n *node, lib *fcall.Library, found Finding) StepResult {
	r := StepResult{Library: lib.ServerName, From: found.Found, Found: found.Found}
	fail := func(reason Reason, text string) StepResult {
		r.Outcome = Failed
		r.Problem = &Error{Op: "ensure", Library: lib.ServerName, Node: n.Addr, Reason: reason, Text: text}
		return r
	}
	switch found.State {
	case Same:
		r.Outcome = Already
	case Newer:
		r.Outcome = KeptNewer
	case Older:
		return fail(ErrOlder, "the node has "+found.Found+", and this client was generated from "+lib.Version+"; run `rlfunc deploy`")
	case Drifted:
		return fail(ErrDrifted, drift(lib, "this source", found.Difference)+"; `rlfunc deploy --replace-drifted` replaces it")
	case Retired:
		return fail(ErrRetired, "it was retired at "+clockTime(found.Retired)+"; upgrade this client, or restore the library with `rlfunc deploy` or `rlfunc rollback`")
	case Foreign:
		return fail(ErrConflict, Conflict{Holder: lib.ServerName}.String())
	}
	return r
}
