package loader

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Mismatch is one library on one node that differs from the client's.
type Mismatch struct {
	Node
	Finding
	// Serves reports whether calls succeed anyway: a higher version of the same major version has everything that a lower one
	// has.
	Serves bool `json:"serves"`
	// Problem is why the node could not be read, if State is Unknown.
	Problem *Error `json:"problem,omitempty"`
}

// Validate compares the libraries on all nodes, including replicas, with those of a service before it takes traffic. It returns
// a Mismatch for each library that is missing, older, newer, drifted or foreign, and none if all nodes hold the libraries byte
// for byte. It changes nothing and needs only +function|list.
//
//	mismatches, err := loader.Validate(ctx, rdb, limits.Fcall().Library())
//
// The service decides whether to start. Its clients load a Missing library themselves, unless [fcall.Options].NoAutoLoad is
// set. An Older or Drifted one stays until a deploy.
func Validate(ctx context.Context, client fcall.Caller, libs ...*fcall.Library) ([]Mismatch, error) {
	v, err := NewTarget(client).Verify(ctx, libs...)
	if err != nil {
		return nil, err
	}
	var mismatches []Mismatch
	for _, n := range v.Nodes {
		for _, f := range n.Findings {
			if f.State != Same {
				mismatches = append(mismatches, Mismatch{Node: n.Node, Finding: f, Serves: f.State == Newer, Problem: n.Problem})
			}
		}
	}
	return mismatches, nil
}
