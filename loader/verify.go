package loader

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
)

// VerificationFormat is the version of a Verification's JSON.
const VerificationFormat = 1

// A Verification compares the libraries on the nodes with the source. Its steps say how they stand, and plan nothing.
type Verification struct {
	Format int         `json:"format"`
	Nodes  []NodeSteps `json:"nodes"`
}

// Same reports whether every node holds every library byte for byte.
func (v *Verification) Same() bool {
	for _, n := range v.Nodes {
		for _, s := range n.Steps {
			if s.State != Same {
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
	v := &Verification{Format: VerificationFormat, Nodes: make([]NodeSteps, len(s.nodes))}
	onEach(s.nodes, func(i int, n *node) {
		loaded, problem := n.look(ctx, "verify")
		v.Nodes[i] = NodeSteps{Node: n.Node, Problem: problem}
		for _, lib := range libs {
			step := compare(lib, loaded)
			if problem != nil {
				step.State = Unknown
			}
			v.Nodes[i].Steps = append(v.Nodes[i].Steps, step)
		}
	})
	return v, nil
}
