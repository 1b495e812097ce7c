package loader

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
)

// Ensure is for a service at its start: it loads the library where it is absent, and never replaces anything, so that an old pod
// can not undo a deploy. Many replicas may call it at once: one loads, and all of them find it.
//
// A higher version of the same major serves as well and is no error. A lower one (ErrOlder), other bytes of the same version
// (ErrDrifted), a name that something else holds (ErrConflict) and a retired library (ErrRetired) are errors: the first is for a deploy, the
// others for an operator. The
// Result tells what each node holds, also beside an error; it is nil if the library or the client can not be used at all.
//
// It looks at primaries only. The user needs +function|list, +function|load for what is absent, and on a cluster +cluster|nodes.
func Ensure(ctx context.Context, client fcall.Caller, lib *fcall.Library) (*Result, error) {
	if err := checkLibraries("ensure", []*fcall.Library{lib}); err != nil {
		return nil, err
	}
	s, err := NewTarget(client).open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &Result{Format: ResultFormat, Nodes: make([]NodeResult, len(s.nodes))}
	onEach(s.nodes, func(i int, n *node) {
		r.Nodes[i] = NodeResult{Node: n.Node, Steps: []StepResult{n.ensure(ctx, lib)}}
	})
	return r, r.Err()
}

func (n *node) ensure(ctx context.Context, lib *fcall.Library) StepResult {
	loaded, problem := n.look(ctx, "ensure")
	if problem != nil {
		return StepResult{Library: lib.ServerName, Outcome: Failed, Problem: problem.at("ensure", lib.ServerName)}
	}
	found := compare(lib, loaded)
	r := settled(n, lib, found)
	if found.State == Missing {
		r = n.load(ctx, nil, lib, found)
		if r.Problem != nil && r.Problem.Reason == ErrMoved {
			// Another replica of the service, of another version, was faster: what it loaded is what there is.
			if loaded, err := n.list(ctx); err == nil {
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

// settled is the end of an Ensure that finds the name taken.
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
		r.Outcome = LeftNewer
	case Older:
		return fail(ErrOlder, "the node has "+found.Found+", and this client was generated from "+lib.Version+"; run `rlfunc deploy`")
	case Drifted:
		return fail(ErrDrifted, drift(lib, found.Difference)+"; `rlfunc deploy --replace-drifted` replaces it")
	case Retired:
		return fail(ErrRetired, "it was retired at "+clockTime(found.Retired)+"; upgrade this client, or bring the library back with `rlfunc deploy` or `rlfunc rollback`")
	case Foreign:
		return fail(ErrConflict, Conflict{Holder: lib.ServerName}.String())
	}
	return r
}
