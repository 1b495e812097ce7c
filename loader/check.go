package loader

import (
	"cmp"
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
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.check(ctx), nil
}

func (s *session) check(ctx context.Context) []NodeState {
	states := make([]NodeState, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) { states[i] = n.check(ctx) })
	return states
}

func (n *node) check(ctx context.Context) NodeState {
	s := NodeState{Node: n.Node, Problem: n.problem}
	if s.Problem != nil {
		return s
	}
	a := n.ask(ctx)
	if a.err != nil {
		s.Problem = judge("check", "", n.Addr, false, a.err)
		return s
	}
	s.Server = a.server
	if n.loadable() {
		s.Role = cmp.Or(a.role, n.Role)
	}
	if a.server.tooOld() {
		s.Problem = noFunctions(n.Addr, a.server, nil)
		return s
	}
	var err error
	s.Libraries, err = n.list(ctx)
	if err != nil {
		s.Problem = n.judgeList(ctx, "check", err)
		return s
	}
	s.Readable = true
	if n.loadable() {
		s.Problem = n.probe(ctx, a.server, a.role)
	}
	if a.server.Cluster && n.id == "" {
		s.Warnings = append(s.Warnings, Warning{
			Code: "cluster_node",
			Text: n.Addr + " is a node of a cluster: the other primaries are not looked at, and calls to them need the library too; give the cluster as redis+cluster://" + n.Addr,
		})
	}
	return s
}

// probe tells why the node would not load a library. Loading an empty one is refused by every server, but only after it has looked
// at the permission, the memory and the role: a server that would load answers with a plain ERR.
func (n *node) probe(ctx context.Context, server Server, role Role) *Error {
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
func (n *node) judgeList(ctx context.Context, op string, err error) *Error {
	e := judge(op, "", n.Addr, false, err)
	var reply redis.Error
	if e.Reason != ErrRejected || !errors.As(err, &reply) {
		return e
	}
	a := n.ask(ctx)
	if a.err != nil {
		return e
	}
	return noFunctions(n.Addr, a.server, reply).at(op, "")
}

func noFunctions(addr string, server Server, reply error) *Error {
	e := &Error{Op: "check", Node: addr, Reason: ErrNoFunctions, Cause: reply, Text: "Redis 7.0 or Valkey is needed, this is " + server.String()}
	if reply != nil {
		e.Text += " and it answered: " + reply.Error()
	}
	return e
}
