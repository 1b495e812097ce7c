package loader

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/marks"
	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
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
	if s.Libraries, s.Problem = n.look(ctx, "check"); s.Problem != nil {
		return s
	}
	s.Readable = true
	if n.loadable() {
		s.Problem = n.probe(ctx, a.server, a.role)
	}
	if a.server.Cluster && n.id == "" {
		s.Warnings = append(s.Warnings, warning("cluster_node",
			n.Addr+" is a node of a cluster: the other primaries are not checked, and calls to them need the library too", "use redis+cluster://"+n.Addr))
	}
	return s
}

// look returns the libraries of a node. It does not connect to a node that is known to be unreachable.
func (n *node) look(ctx context.Context, op string) ([]LoadedLibrary, *Error) {
	switch {
	case n.problem != nil:
		return nil, n.problem.at(op, "")
	case n.answer != nil && n.answer.err != nil:
		if e := classify(op, "", n.Addr, false, n.answer.err); !e.answered() {
			return nil, e
		}
	}
	loaded, err := listAll(ctx, n.Conn)
	if err != nil {
		return nil, n.classifyList(ctx, op, err)
	}
	return loaded, nil
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
	e.Reason = ErrNoFunctions
	e.Text = "the server refuses FUNCTION and can hold no library: Functions need Redis 7.0 or Valkey, and this is " + a.server.String() + " and it answered: " + reply.Error() +
		"; clients and guard run the same Lua as scripts here, and `rlfunc call` too, so there is nothing to deploy"
	return e
}

// A Server describes a node. Fields that the user may not read are empty.
type Server struct {
	Kind    string `json:"kind,omitempty"`    // "Redis", "Valkey", "embedded", ...
	Version string `json:"version,omitempty"` // "7.0.15"
	RunID   string `json:"run_id,omitempty"`  // changes with each start of the process
	// UsedMemory and MaxMemory are in bytes. A MaxMemory of 0 means no limit.
	UsedMemory int64 `json:"used_memory_bytes,omitempty"`
	MaxMemory  int64 `json:"max_memory_bytes,omitempty"`
	// Primary is the address that a replica follows, or empty.
	Primary string `json:"primary,omitempty"`
	// Cluster reports whether the server is a node of a cluster.
	Cluster bool `json:"cluster,omitempty"`
}

// String is the kind and the version, "Redis 7.0.15".
func (s Server) String() string { return s.product().String() }

func (s Server) product() requires.Server {
	return requires.Server{Product: s.Kind, Version: s.Version}
}

// An answer is the node's reply to INFO or HELLO.
type answer struct {
	server   Server
	role     Role
	replicas []string          // addresses
	info     map[string]string // the fields of INFO; nil if the user may not use it
	err      error
}

// ask asks the node once for each session. A user without INFO may still use HELLO, which every user may.
func (n *node) ask(ctx context.Context) *answer {
	if n.answer == nil {
		n.answer = &answer{}
		*n.answer = n.askAgain(ctx)
		n.Role = cmp.Or(n.Role, n.answer.role)
	}
	return n.answer
}

func (n *node) askAgain(ctx context.Context) answer {
	reply, err := n.Do(ctx, false, "INFO")
	if err == nil {
		text, _ := reply.(string)
		return readInfo(text)
	}
	var refusal redis.Error
	if !errors.As(err, &refusal) {
		return answer{err: err}
	}
	hello, helloErr := n.Do(ctx, false, "HELLO")
	if helloErr != nil {
		return answer{err: err}
	}
	s, role := readHello(hello)
	return answer{server: s, role: role}
}

func readInfo(text string) answer {
	field, product := serverinfo.Fields(text), serverinfo.Identify(text)
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(field[name], 10, 64) // a server without the field has no such limit
		return n
	}
	s := Server{
		Kind: product.Product, Version: product.Version,
		RunID: field["run_id"], UsedMemory: number("used_memory"), MaxMemory: number("maxmemory"),
		Cluster: field["cluster_enabled"] == "1",
	}
	role := roleOf(field["role"])
	if role == Replica {
		s.Primary = net.JoinHostPort(field["master_host"], field["master_port"])
	}
	a := answer{server: s, role: role, info: field}
	for i := 0; ; i++ {
		replica, ok := field["slave"+strconv.Itoa(i)]
		if !ok {
			return a
		}
		if addr := replicaAddr(replica); addr != "" {
			a.replicas = append(a.replicas, addr)
		}
	}
}

// replicaAddr reads `ip=127.0.0.1,port=7002,state=online,offset=42,lag=0`.
func replicaAddr(text string) string {
	part := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(field, "=")
		part[name] = value
	}
	if part["ip"] == "" || part["port"] == "" || part["port"] == "0" {
		return ""
	}
	return net.JoinHostPort(part["ip"], part["port"])
}

func readHello(reply any) (Server, Role) {
	m := resp.Map(reply)
	text := func(name string) string { s, _ := m[name].(string); return s }
	s := Server{Kind: requires.ProductName(text("server")), Version: text("version"), Cluster: text("mode") == "cluster"}
	return s, roleOf(text("role"))
}

func roleOf(name string) Role {
	switch name {
	case "master", "primary":
		return Primary
	case "slave", "replica":
		return Replica
	}
	return ""
}

// A LoadedLibrary is a library that a node holds.
type LoadedLibrary struct {
	ServerName string `json:"server_name"` // "ratelimit_v1"
	// Name and Version are from the bundle's header. Both are empty if rlfunc did not generate it.
	Name      string    `json:"name,omitempty"`    // "ratelimit"
	Version   string    `json:"version,omitempty"` // "1.0.0"
	Retired   time.Time `json:"retired,omitzero"`  // when a retire replaced the library with this tombstone, which serves no calls
	Engine    string    `json:"engine"`            // "LUA"
	Functions []string  `json:"functions"`         // sorted
	Digest    string    `json:"digest"`            // SHA-256 of Code, in hexadecimal digits
	Code      string    `json:"-"`
}

// listAll returns all libraries, sorted by name. It decodes the reply itself: go-redis's command fails on fields that it does
// not know, and servers add fields.
func listAll(ctx context.Context, c *conn.Conn) ([]LoadedLibrary, error) {
	return list(ctx, c, "FUNCTION", "LIST", "WITHCODE")
}

// listOne returns the libraries of a name: one or none, and those that differ in case only.
func listOne(ctx context.Context, c *conn.Conn, serverName string) ([]LoadedLibrary, error) {
	return list(ctx, c, listCommand(serverName)...)
}

// listCommand lists one library with its code. Names of libraries are letters, digits and underscores, so the pattern matches
// only that name, in any case.
func listCommand(serverName string) []any {
	return []any{"FUNCTION", "LIST", "LIBRARYNAME", serverName, "WITHCODE"}
}

func list(ctx context.Context, c *conn.Conn, command ...any) ([]LoadedLibrary, error) {
	reply, err := c.Do(ctx, false, command...)
	if err != nil {
		return nil, err
	}
	return readLibraries(reply)
}

func readLibraries(reply any) ([]LoadedLibrary, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, resp.FormatError(fmt.Sprintf("the list of libraries is a %T", reply))
	}
	libraries := make([]LoadedLibrary, 0, len(items))
	for i, item := range items {
		l, err := readLibrary(item)
		if err != nil {
			return nil, resp.FormatError(fmt.Sprintf("library %d of %d in the list: %v", i+1, len(items), err))
		}
		libraries = append(libraries, l)
	}
	slices.SortFunc(libraries, func(a, b LoadedLibrary) int { return strings.Compare(a.ServerName, b.ServerName) })
	return libraries, nil
}

func readLibrary(reply any) (LoadedLibrary, error) {
	fields := resp.Map(reply)
	var l LoadedLibrary
	for name, into := range map[string]*string{"library_name": &l.ServerName, "engine": &l.Engine, "library_code": &l.Code} {
		text, ok := fields[name].(string)
		if !ok {
			return l, fmt.Errorf("%s is missing", name)
		}
		*into = text
	}
	functions, _ := fields["functions"].([]any)
	l.Functions = make([]string, 0, len(functions))
	for _, f := range functions {
		name, ok := resp.Map(f)["name"].(string)
		if !ok {
			return l, fmt.Errorf("a function of %s has no name", l.ServerName)
		}
		l.Functions = append(l.Functions, name)
	}
	slices.Sort(l.Functions)
	l.Digest = digestOf(l.Code)
	h := marks.ReadHead(l.Code)
	l.Name, l.Version, l.Retired = h.Library, h.Version, h.Retired
	return l, nil
}

func digestOf(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}
