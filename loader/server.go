package loader

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

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

// tooOld reports whether the server is a Redis without Functions.
func (s Server) tooOld() bool {
	major, _, _ := strings.Cut(s.Version, ".")
	n, err := strconv.Atoi(major)
	return s.Kind == "Redis" && err == nil && n < 7
}
