package loader

import (
	"context"
	"slices"
	"strings"
)

// Clients of these names visit the nodes one by one, in the order of their addresses or in reverse.
const (
	OneByOne   = "one-by-one"
	InReverse  = OneByOne + "-in-reverse"
	sequential = OneByOne
)

func init() {
	together := onEach
	onEach = func(nodes []*node, f func(int, *node)) {
		name := ""
		if len(nodes) > 0 {
			name = nodes[0].client.Options().ClientName
		}
		if !strings.HasPrefix(name, sequential) {
			together(nodes, f)
			return
		}
		order := make([]int, len(nodes))
		for i := range order {
			order[i] = i
		}
		if name == InReverse {
			slices.Reverse(order)
		}
		for _, i := range order {
			f(i, nodes[i])
		}
	}
}

// RevisionKey returns the key of the revision of a node whose CLUSTER NODES has this text.
var RevisionKey = revisionKey

// EventText returns the history's text of an event with these steps.
func EventText(e Event, nodes []NodeSteps) ([]byte, error) {
	e.Changes = changesOf(nodes, func(NodeSteps, Step) bool { return true })
	return e.text()
}

// Nodes lists the target's nodes, without a question to nodes that others know.
func (t *Target) Nodes(ctx context.Context) ([]Node, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	nodes := make([]Node, len(s.nodes))
	for i, n := range s.nodes {
		nodes[i] = n.Node
	}
	return nodes, nil
}
