package loader

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Role is what a node is to the others.
type Role string

// The roles. Libraries are loaded on primaries only.
const (
	Primary Role = "primary"
	Replica Role = "replica"
)

// A Node is one server of a Target.
type Node struct {
	Addr string `json:"addr"` // "127.0.0.1:7001", the path of a socket, or "embedded"
	Role Role   `json:"role,omitempty"`
}

// A Target is where libraries are deployed to.
type Target struct {
	caller fcall.Caller
}

// NewTarget returns the target that a client reaches. It sends nothing and does not close the client. In this version a target is one
// standalone server: a *redis.Client (also one of NewFailoverClient) or an embedded server. Others are refused by every method with ErrUnsupported.
func NewTarget(client fcall.Caller) *Target { return &Target{caller: client} }

// Nodes returns the target's nodes, without asking them anything: their roles are not known yet.
func (t *Target) Nodes(ctx context.Context) ([]Node, error) {
	found, err := t.nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(found))
	for i, n := range found {
		nodes[i] = n.Node
	}
	return nodes, nil
}

// node is a Node and the way to it.
type node struct {
	Node
	caller fcall.Caller
}

func (t *Target) nodes(ctx context.Context) ([]node, error) {
	refuse := func(reason Reason, why string, cause error) ([]node, error) {
		return nil, &Error{Op: "find the nodes", Reason: reason, Text: why, Cause: cause}
	}
	if err := ctx.Err(); err != nil {
		return refuse(ErrUnreachable, plainText(err), err)
	}
	switch c := t.caller.(type) {
	case nil:
		return refuse(ErrUnsupported, "there is no client", nil)
	case redis.Pipeliner, *redis.AutoPipeliner:
		return refuse(ErrUnsupported, "a pipeline can not be deployed to; give the client that made it", nil)
	case interface {
		ForEachMaster(context.Context, func(context.Context, *redis.Client) error) error
	}:
		return refuse(ErrUnsupported, "a cluster can not be deployed to yet; give a client of each primary", nil)
	case interface {
		ForEachShard(context.Context, func(context.Context, *redis.Client) error) error
	}:
		return refuse(ErrUnsupported, "a ring can not be deployed to yet; give a client of each shard", nil)
	case interface{ Options() *redis.Options }:
		return []node{{Node: Node{Addr: c.Options().Addr}, caller: t.caller}}, nil
	default:
		return []node{{Node: Node{Addr: "embedded"}, caller: t.caller}}, nil
	}
}

// onEach runs f for all nodes at once; f(i) is of nodes[i].
func onEach(nodes []node, f func(i int)) {
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// do runs one command. A command that writes is sent once at most: go-redis would repeat it after a lost reply.
func (n node) do(ctx context.Context, writes bool, args ...any) (any, error) {
	cmd := &command{Cmd: redis.NewCmd(ctx, args...), once: writes}
	if err := n.caller.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Result()
}

type command struct {
	*redis.Cmd
	once bool
}

// NoRetry tells go-redis not to send this command again by itself.
func (c *command) NoRetry() bool { return c.once }
