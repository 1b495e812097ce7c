package loader

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// A NodeState is what a node is, what it holds, and whether it can be deployed to.
type NodeState struct {
	Node
	Server Server `json:"server"`
	// Problem is why nothing can be loaded there, or nil.
	Problem *Error `json:"problem,omitempty"`
	// Warnings do not stand in the way of a deploy.
	Warnings []Warning `json:"warnings,omitempty"`
	// Readable tells whether Libraries could be read.
	Readable  bool            `json:"readable"`
	Libraries []LoadedLibrary `json:"libraries"` // all of them, sorted by name
}

// A Warning is something that a person should know.
type Warning struct {
	Code string `json:"code"` // "cluster_node"
	Text string `json:"text"`
}

// Check looks at every node. It changes nothing. What is wrong with a node is in its NodeState; the error is about the target as a whole.
func (t *Target) Check(ctx context.Context) ([]NodeState, error) {
	nodes, err := t.nodes(ctx)
	if err != nil {
		return nil, err
	}
	return checkNodes(ctx, nodes), nil
}

func checkNodes(ctx context.Context, nodes []node) []NodeState {
	states := make([]NodeState, len(nodes))
	onEach(nodes, func(i int) { states[i] = nodes[i].check(ctx) })
	return states
}

func (n node) check(ctx context.Context) NodeState {
	s := NodeState{Node: n.Node}
	server, role, err := n.ask(ctx)
	if err != nil {
		s.Problem = judge("check", "", n.Addr, false, err)
		return s
	}
	s.Server, s.Role = server, role
	if server.tooOld() {
		s.Problem = noFunctions(n.Addr, server, nil)
		return s
	}
	s.Libraries, err = n.list(ctx)
	if err != nil {
		s.Problem = n.judgeList(ctx, "check", err)
		return s
	}
	s.Readable = true
	s.Problem = n.probe(ctx, server, role)
	if server.Cluster {
		s.Warnings = append(s.Warnings, Warning{
			Code: "cluster_node",
			Text: n.Addr + " is a node of a cluster: the other primaries are not looked at, and calls to them need the library too",
		})
	}
	return s
}

// probe tells why the node would not load a library. Loading an empty one is refused by every server, but only after it has looked
// at the permission, the memory and the role: a server that would load answers with a plain ERR.
func (n node) probe(ctx context.Context, server Server, role Role) *Error {
	if role == Replica {
		e := &Error{Op: "check", Node: n.Addr, Reason: ErrReadOnly, Text: "this is a replica; deploy to its primary"}
		if server.Primary != "" {
			e.Text = "this is a replica of " + server.Primary + "; deploy to that"
		}
		return e
	}
	_, err := n.do(ctx, false, "FUNCTION", "LOAD", "")
	if err == nil {
		return nil
	}
	if e := judge("check", "", n.Addr, false, err); e.Reason != ErrRejected {
		return e
	}
	return nil
}

// judgeList says why the libraries could not be read. An answer of any other kind than usual is a server without them, and then it
// matters which one that is.
func (n node) judgeList(ctx context.Context, op string, err error) *Error {
	e := judge(op, "", n.Addr, false, err)
	var reply redis.Error
	if e.Reason != ErrRejected || !errors.As(err, &reply) {
		return e
	}
	server, _, askErr := n.ask(ctx)
	if askErr != nil {
		return e
	}
	return noFunctions(n.Addr, server, reply).at(op, "")
}

func noFunctions(addr string, server Server, reply error) *Error {
	e := &Error{Op: "check", Node: addr, Reason: ErrNoFunctions, Cause: reply, Text: "Redis 7.0 or Valkey is needed, this is " + server.String()}
	if reply != nil {
		e.Text += " and it answered: " + reply.Error()
	}
	return e
}
