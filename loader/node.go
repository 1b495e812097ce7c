package loader

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/internal/servers"
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
	a := n.ask(ctx)
	s := NodeState{Node: n.Node, Server: a.server}
	if s.Libraries, s.Problem = n.look(ctx); s.Problem != nil {
		return s
	}
	s.Readable = true
	if n.loadable() {
		s.Role = cmp.Or(a.role, n.Role)
		s.Problem = n.probe(ctx, a)
	}
	if a.server.Cluster && n.id == "" {
		s.Warnings = append(s.Warnings, warning("cluster_node",
			n.Addr+" is a node of a cluster: the other primaries are not checked, and calls to them need the library too", "use redis+cluster://"+n.Addr))
	}
	return s
}

// look returns the libraries of a node, unless it is known to be unreachable.
func (n *node) look(ctx context.Context) ([]LoadedLibrary, *Error) {
	if n.problem != nil {
		return nil, n.problem
	}
	loaded, err := list(ctx, n.client)
	if err == nil {
		return loaded, nil
	}
	e := classify("check", "", n.Addr, false, err)
	if e.Reason == ErrRejected && isReply(err) { // it does not know the command
		e.Reason = ErrNoFunctions
		e.Text = "the server refuses FUNCTION and can hold no library: it is " + n.ask(ctx).server.String() + " and answered: " + err.Error() +
			"; use Redis 7.0 or later or Valkey, where FUNCTION is not disabled, or the embedded engine"
	}
	return nil, e
}

// probe returns why the node would refuse a load. Every server refuses to load an empty library, but only after it has checked
// the permission, the memory and the role. A server that would load answers with a plain ERR.
func (n *node) probe(ctx context.Context, a *answer) *Error {
	if a.role == Replica {
		return &Error{Op: "check", Node: n.Addr, Reason: ErrReadOnly, Text: "this is a replica of " + a.server.Primary + "; deploy to that"}
	}
	if err := n.client.Do(ctx, "FUNCTION", "LOAD", "").Err(); err != nil {
		if e := classify("check", "", n.Addr, false, err); e.Reason != ErrRejected {
			return e
		}
	}
	return nil
}

// A Server describes a node. Fields that the user may not read are empty.
type Server struct {
	Kind    string `json:"kind,omitempty"`    // "Redis", "Valkey", "embedded", ...
	Version string `json:"version,omitempty"` // "7.0.15"
	// Primary is the address that a replica follows, or empty.
	Primary string `json:"primary,omitempty"`
	// Cluster reports whether the server is a node of a cluster.
	Cluster bool `json:"cluster,omitempty"`
}

// String is the kind and the version, "Redis 7.0.15".
func (s Server) String() string { return s.product().String() }

func (s Server) product() servers.Server {
	return servers.Server{Product: s.Kind, Version: s.Version}
}

// An answer is the node's reply to INFO or HELLO.
type answer struct {
	server   Server
	role     Role
	replicas []string          // addresses
	info     map[string]string // the fields of INFO; nil if the user may not use it
}

// ask asks the node once for each session. A user without INFO may still use HELLO, which every user may. Without an answer, that is the node's
// problem.
func (n *node) ask(ctx context.Context) *answer {
	if n.answer != nil {
		return n.answer
	}
	n.answer = &answer{}
	if n.problem != nil {
		return n.answer
	}
	text, err := n.client.Info(ctx).Result()
	if err == nil {
		*n.answer = readInfo(text)
	} else if hello, helloErr := n.client.Do(ctx, "HELLO").Result(); isReply(err) && helloErr == nil {
		*n.answer = readHello(hello)
	} else {
		n.problem = classify("check", "", n.Addr, false, err)
	}
	n.Role = cmp.Or(n.Role, n.answer.role)
	return n.answer
}

func readInfo(text string) answer {
	field, product := servers.Info(text), servers.Identify(text)
	s := Server{Kind: product.Product, Version: product.Version, Cluster: field["cluster_enabled"] == "1"}
	role := roles[field["role"]]
	if role == Replica {
		s.Primary = net.JoinHostPort(field["master_host"], field["master_port"])
	}
	a := answer{server: s, role: role, info: field}
	for i := 0; ; i++ {
		text, ok := field["slave"+strconv.Itoa(i)] // ip=127.0.0.1,port=7002,state=online,offset=42,lag=0
		if !ok {
			return a
		}
		if replica := pairs(text, ","); replica["ip"] != "" && replica["port"] != "" && replica["port"] != "0" {
			a.replicas = append(a.replicas, net.JoinHostPort(replica["ip"], replica["port"]))
		}
	}
}

func readHello(reply any) answer {
	m := fieldMap(reply)
	text := func(name string) string { s, _ := m[name].(string); return s }
	s := Server{Kind: servers.ProductName(text("server")), Version: text("version"), Cluster: text("mode") == "cluster"}
	return answer{server: s, role: roles[text("role")]}
}

// roles are the words of INFO and HELLO.
var roles = map[string]Role{"master": Primary, "slave": Replica, "replica": Replica}

// A formatError is a reply that does not have the form that servers document.
type formatError string

func (e formatError) Error() string { return string(e) }

func malformed(format string, args ...any) error { return formatError(fmt.Sprintf(format, args...)) }

// fieldMap reads a map of RESP3 or its flat form in RESP2. Anything else is an empty map.
func fieldMap(reply any) map[string]any {
	m := map[string]any{}
	switch r := reply.(type) {
	case map[any]any:
		for k, v := range r {
			if name, ok := k.(string); ok {
				m[name] = v
			}
		}
	case []any:
		for i := 0; i+1 < len(r); i += 2 {
			if name, ok := r[i].(string); ok {
				m[name] = r[i+1]
			}
		}
	}
	return m
}

// pairs reads a text such as "ip=127.0.0.1,port=7002".
func pairs(text, separator string) map[string]string {
	m := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSpace(text), separator) {
		name, value, _ := strings.Cut(pair, "=")
		m[name] = value
	}
	return m
}
