package loader

import (
	"cmp"
	"context"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
)

// tooOldFor returns why a server is not one that the library requires, or "".
func (s Server) tooOldFor(lib *fcall.Library) string {
	return bundle.ReadHeader(lib.Code).Requires.Refusal(lib.ServerName+" "+lib.Version, s.product())
}

// refuseOld blocks the steps of libraries on nodes that are too old for them. A primary is, too, if one of its replicas is: it
// would replicate the library.
func (p *Plan) refuseOld() {
	refuse := func(s *Step, why string) {
		if s.Action != Unusable && s.Action != KeepNewer {
			s.Action, s.Reason = TooOld, why
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

// tooOld returns why primaries are too old for the library, or have a replica that is, by address. It skips replicas that do
// not answer, and asks no node if the library requires nothing.
func (s *session) tooOld(ctx context.Context, op string, lib *fcall.Library) map[string]*Error {
	problems := map[string]*Error{}
	if !requiresServer(lib) {
		return problems
	}
	onEach(s.nodes, func(_ int, n *node) {
		if n.problem == nil {
			n.ask(ctx)
		}
	})
	for _, n := range s.nodes {
		e := &Error{Op: op, Library: lib.ServerName, Node: cmp.Or(n.Follows, n.Addr), Reason: ErrTooOld}
		switch {
		case n.problem != nil || n.answer.err != nil && !n.loadable() || problems[e.Node] != nil:
			continue
		case n.answer.err != nil:
			e = classify(op, lib.ServerName, n.Addr, false, n.answer.err)
		default:
			if e.Text = n.answer.server.tooOldFor(lib); e.Text == "" {
				continue
			}
			if !n.loadable() {
				e.Text = "its replica " + n.Addr + ": " + e.Text
			}
		}
		problems[e.Node] = e
	}
	return problems
}

func requiresServer(lib *fcall.Library) bool { return len(bundle.ReadHeader(lib.Code).Requires) > 0 }
