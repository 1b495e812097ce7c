// Package connection opens the servers that a command works on.
package connection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader"
)

// Embedded is the URL of a new, empty server in this process.
const Embedded = "embedded"

// A Conn is a connection to a server, a cluster, or the primary that sentinels watch.
type Conn struct {
	Client redis.UniversalClient
	Name   string // for messages, without a password

	address  *loader.Address  // nil for the embedded server
	embedded *embedded.Server // nil for a real one
}

// Open opens the servers of a URL. It sends nothing yet. The caller closes the connection.
func Open(url string) (*Conn, error) {
	if url == Embedded {
		server := embedded.New(embedded.Options{})
		return &Conn{Client: server.Client(), embedded: server, Name: Embedded}, nil
	}
	address, err := loader.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return &Conn{Client: address.NewClient(), address: address, Name: address.String()}, nil
}

// Embedded reports whether the server is in this process.
func (c *Conn) Embedded() bool { return c.embedded != nil }

// Close closes the connection.
func (c *Conn) Close() {
	c.Client.Close()
	if c.embedded != nil {
		c.embedded.Close()
	}
}

// Ready connects before a call, so that an error here proves that nothing ran. It returns errors that the call itself would not
// classify, with the explanation of a deploy.
func (c *Conn) Ready(ctx context.Context) error {
	var err error
	if cluster, ok := c.Client.(*redis.ClusterClient); ok { // whose PING goes to any node, also one that is down
		err = cluster.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
	} else {
		err = c.Client.Ping(ctx).Err()
	}
	var reply redis.Error
	if err == nil || errors.As(err, &reply) && !strings.HasPrefix(reply.Error(), "ERR ") && !strings.Contains(reply.Error(), ": ERR ") {
		return nil // a reply such as NOPERM or LOADING, which the call explains
	}
	if ctx.Err() == nil && c.address != nil {
		t := c.address.Open()
		defer t.Close()
		nodes, checkErr := t.Check(ctx)
		for _, n := range nodes {
			if n.Problem != nil && n.Problem.Reason == loader.ErrUnreachable {
				checkErr = n.Problem
			}
		}
		if checkErr != nil {
			err = checkErr
		}
	}
	return fmt.Errorf("nothing ran: %w", err)
}

// Ensure loads a library into the embedded server, which starts empty. It never changes a real server.
func (c *Conn) Ensure(ctx context.Context, lib *fcall.Library) error {
	if c.embedded == nil {
		return nil
	}
	if err := c.Client.FunctionLoadReplace(ctx, lib.Code).Err(); err != nil {
		return fmt.Errorf("load %s into the embedded server: %w", lib.ServerName, err)
	}
	return nil
}

// EachPrimary calls do for every primary.
func (c *Conn) EachPrimary(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch client := c.Client.(type) {
	case *redis.ClusterClient:
		return client.ForEachMaster(ctx, do)
	case *redis.Client:
		return do(ctx, client)
	}
	return nil
}

// A Target is a set of nodes to deploy to.
type Target struct {
	*loader.Target
	Name string // for messages, without a password

	conn *Conn // to the embedded server, otherwise nil
}

// OpenTarget opens the servers of a URL as a target. It sends nothing yet. The caller closes the target.
func OpenTarget(url string) (*Target, error) {
	if url == Embedded {
		conn, err := Open(url)
		return &Target{loader.NewTarget(conn.Client), conn.Name, conn}, err
	}
	address, err := loader.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return &Target{Target: address.Open(), Name: address.String()}, nil
}

// Close closes the target.
func (t *Target) Close() {
	t.Target.Close()
	if t.conn != nil {
		t.conn.Close()
	}
}
