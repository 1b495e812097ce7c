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

// Open opens the servers of a URL, for a process that CLIENT LIST shows under a name if it has one, with the libraries that it calls. It sends
// nothing yet. The caller closes the connection.
func Open(url, name string, calls ...*fcall.Library) (*Conn, error) {
	if url == Embedded {
		server := embedded.New(embedded.Options{})
		return &Conn{Client: server.Client(), embedded: server, Name: Embedded}, nil
	}
	address, err := loader.ParseURL(url)
	if err != nil {
		return nil, err
	}
	address.Identify(name, calls...)
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

// Nameless explains what go-redis returns if it cannot tell which node of a cluster has a key, of a command that never returns it otherwise.
func Nameless(err error) error {
	if errors.Is(err, redis.Nil) {
		return errors.New("the nodes of the cluster give no address to clients; set cluster-preferred-endpoint-type ip or hostname on each")
	}
	return err
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

// A Target is a set of nodes to deploy to.
type Target struct {
	*loader.Target
	Name string // for messages, without a password
}

// Target returns the nodes of the connection. The caller closes it.
func (c *Conn) Target() *Target {
	if c.embedded != nil {
		return &Target{loader.NewTarget(c.Client), c.Name}
	}
	return &Target{c.address.Open(), c.Name}
}
