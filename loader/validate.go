package loader

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Misfit is one library on one node that is not what a client was generated from.
type Misfit struct {
	Node
	Finding
	// Serves tells that calls are answered all the same: a higher version of the same major has all that a lower one has.
	Serves bool `json:"serves"`
	// Problem is why the node could not be read, if State is Unknown.
	Problem *Error `json:"problem,omitempty"`
}

// Validate is a service's look at its servers before it takes traffic: what is missing, older, newer, drifted or not ours,
// on each node, replicas among them; nothing if all of them hold the libraries byte for byte. It changes nothing and needs
// +function|list only. Whether a service starts all the same is its own decision: what is Missing, its clients load (unless
// [fcall.Options].NoHeal is set), while what is Older or Drifted stays until a deploy.
//
//	misfits, err := loader.Validate(ctx, rdb, limits.Fcall().Library())
//
// It is here and not a method of the client because it needs every node of a topology, by the way that [Target] has to it:
// package fcall, which every service links, stays free of that.
func Validate(ctx context.Context, client fcall.Caller, libs ...*fcall.Library) ([]Misfit, error) {
	v, err := NewTarget(client).Verify(ctx, libs...)
	if err != nil {
		return nil, err
	}
	var misfits []Misfit
	for _, n := range v.Nodes {
		for _, f := range n.Findings {
			if f.State != Same {
				misfits = append(misfits, Misfit{Node: n.Node, Finding: f, Serves: f.State == Newer, Problem: n.Problem})
			}
		}
	}
	return misfits, nil
}
