package loader

import (
	"context"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// Ensure is for a service when it starts: it loads the library on primaries that lack it, and never replaces one, so an old pod
// cannot undo a deploy. If another primary has a higher version, Ensure loads that: services of that version call this primary, too.
// Many replicas of a service may call it at once. If Redis does not answer, Ensure gives up after 10 s, so that the service can start.
//
// A higher version of the same major version needs no action. A lower version (ErrOlder), other bytes of the same version
// (ErrDrifted) and a name of another library (ErrConflict) are errors: the first one needs a deploy, the others an operator. The
// Result lists what each primary holds, even beside an error; it is nil if the library or the client is invalid.
//
// The user needs +function|list, +function|load for missing libraries, and +cluster|nodes on a cluster.
func Ensure(ctx context.Context, client fcall.Caller, lib *fcall.Library) (*Result, error) {
	if err := checkLibraries("ensure", []*fcall.Library{lib}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := NewTarget(client).open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	highest := lib
	if l := present(states, lib.ServerName); l != nil && compare(lib, []LoadedLibrary{*l}).State == Newer {
		highest = l.library()
	}
	p := planFor(states, []*fcall.Library{lib}, opEnsure)
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() {
			n.ensure(ctx, lib, highest, &p.Nodes[i].Steps[0])
		}
	})
	r := &Result{}
	for _, n := range p.Nodes {
		if n.Follows == "" {
			r.Nodes = append(r.Nodes, n)
		}
	}
	return r, r.Err()
}

// ensure loads highest, which is lib or a higher version of it, if the node has no such library.
func (n *node) ensure(ctx context.Context, lib, highest *fcall.Library, s *Step) {
	s.Outcome, s.Found = Skipped, s.From
	for again := true; again && s.State == Missing; { // again if a service of another version was faster
		err := n.client.FunctionLoad(ctx, highest.Code).Err()
		loaded, lookErr := list(ctx, n.client)
		if again = s.settle(opEnsure, n.Addr, highest, err, loaded, lookErr); again {
			*s = stepFor(NodeState{Node: n.Node, Readable: true, Libraries: loaded}, lib, opEnsure)
			s.Outcome, s.Found = Skipped, s.From
		}
	}
	if s.Problem != nil {
		s.Outcome = Failed
	}
}
