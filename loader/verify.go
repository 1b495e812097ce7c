package loader

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
)

// VerificationFormat is the version of a Verification's JSON.
const VerificationFormat = 1

// A Verification compares the libraries on the nodes with the source.
type Verification struct {
	Format int                `json:"format"`
	Nodes  []NodeVerification `json:"nodes"`
}

// A NodeVerification is the Verification of one node.
type NodeVerification struct {
	Node
	Problem  *Error    `json:"problem,omitempty"` // why it could not be read, or nil
	Findings []Finding `json:"findings"`          // one for each library, in the order in which they were given
}

// Same reports whether every node holds every library byte for byte.
func (v *Verification) Same() bool {
	for _, n := range v.Nodes {
		for _, f := range n.Findings {
			if f.State != Same {
				return false
			}
		}
	}
	return true
}

// Verify compares the libraries on every node with the source, byte for byte. It changes nothing and needs only +function|list.
// The Verification contains the problems of single nodes; the error is about the whole target or the libraries.
func (t *Target) Verify(ctx context.Context, libs ...*fcall.Library) (*Verification, error) {
	if err := checkLibraries("verify", libs); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	v := &Verification{Format: VerificationFormat, Nodes: make([]NodeVerification, len(s.nodes))}
	onEach(s.nodes, func(i int, n *node) { v.Nodes[i] = n.verify(ctx, libs) })
	return v, nil
}

func (n *node) verify(ctx context.Context, libs []*fcall.Library) NodeVerification {
	v := NodeVerification{Node: n.Node}
	loaded, problem := n.look(ctx, "verify")
	v.Problem = problem
	for _, lib := range libs {
		f := Finding{Library: lib.ServerName, State: Unknown, Want: lib.Version}
		if problem == nil {
			f = compare(lib, loaded)
		}
		v.Findings = append(v.Findings, f)
	}
	return v
}
