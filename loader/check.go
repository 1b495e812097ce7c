package loader

import (
	"cmp"
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// A NodeState describes a node, its libraries, and whether it accepts loads.
type NodeState struct {
	Node
	Server Server `json:"server"`
	// Problem is why the node refuses loads, or nil.
	Problem *Error `json:"problem,omitempty"`
	// Warnings do not block a deploy.
	Warnings []Warning `json:"warnings,omitempty"`
	// Readable reports whether Libraries could be read.
	Readable  bool            `json:"readable"`
	Libraries []LoadedLibrary `json:"libraries"` // all of them, sorted by name
}

// A Warning is a risk that an operator should know.
type Warning struct {
	Code string `json:"code"` // "cluster_node"
	Text string `json:"text"`
}

// Check reads the state of every node. It changes nothing. The NodeStates contain the problems of single nodes; the error is
// about the whole target.
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
		s.Problem = classify("check", "", n.Addr, false, a.err)
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
	s.Libraries, err = listAll(ctx, n.Conn)
	if err != nil {
		s.Problem = n.classifyList(ctx, "check", err)
		return s
	}
	s.Readable = true
	if n.loadable() {
		s.Problem = n.probe(ctx, a.server, a.role)
	}
	if a.server.Cluster && n.id == "" {
		s.Warnings = append(s.Warnings, Warning{
			Code: "cluster_node",
			Text: n.Addr + " is a node of a cluster: the other primaries are not checked, and calls to them need the library too; use redis+cluster://" + n.Addr,
		})
	}
	return s
}

// probe returns why the node would refuse a load. Every server refuses to load an empty library, but only after it has checked
// the permission, the memory and the role. A server that would load answers with a plain ERR.
func (n *node) probe(ctx context.Context, server Server, role Role) *Error {
	if role == Replica {
		e := &Error{Op: "check", Node: n.Addr, Reason: ErrReadOnly, Text: "this is a replica; deploy to its primary"}
		if server.Primary != "" {
			e.Text = "this is a replica of " + server.Primary + "; deploy to that"
		}
		return e
	}
	_, err := n.Do(ctx, false, "FUNCTION", "LOAD", "")
	if err == nil {
		return nil
	}
	if e := classify("check", "", n.Addr, false, err); e.Reason != ErrRejected {
		return e
	}
	return nil
}

// classifyList returns why the libraries could not be read. An unknown reply means a server without Functions, and then its
// version matters.
func (n *node) classifyList(ctx context.Context, op string, err error) *Error {
	e := classify(op, "", n.Addr, false, err)
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
	why := "Functions need Redis 7.0 or Valkey, and this is " + server.String()
	if reply != nil {
		why = "the server refuses FUNCTION and can hold no library; this is " + server.String() + " and it answered: " + reply.Error()
	}
	return &Error{
		Op: "check", Node: addr, Reason: ErrNoFunctions, Cause: reply,
		Text: why + "; clients and guard run the same Lua as scripts here, and `rlfunc call` too, so there is nothing to deploy",
	}
}
