package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader"
)

// A connection is what a command works on: a server, a cluster, what sentinels watch.
type connection struct {
	client   redis.UniversalClient
	address  *loader.Address  // nil for the embedded server
	embedded *embedded.Server // nil for a real one
	name     string           // for messages: no password in it
}

// connect opens what --redis names. It sends nothing yet.
func (a *app) connect() (*connection, error) {
	if a.redis == "" {
		return nil, errors.New("no server: give --redis redis://host:6379, redis+cluster://host1,host2 or redis+sentinel://main@host1,host2 (or set REDIS_URL), or --redis embedded")
	}
	if a.redis == "embedded" {
		server := embedded.New(embedded.Options{})
		return &connection{client: server.Client(), embedded: server, name: "embedded"}, nil
	}
	address, err := loader.ParseURL(a.redis)
	if err != nil {
		return nil, err
	}
	return &connection{client: address.NewClient(), address: address, name: address.String()}, nil
}

// openTarget is where libraries are deployed to over the connection. The caller closes it.
func (a *app) openTarget(c *connection) *loader.Target {
	target := loader.NewTarget(c.client)
	if c.address != nil {
		target = c.address.Open()
	}
	if a.noReplicas {
		return target.WithoutReplicas()
	}
	return target
}

func (c *connection) close() {
	c.client.Close()
	if c.embedded != nil {
		c.embedded.Close()
	}
}

// ensure loads a library into the embedded server, which begins empty; a real server is left as it is.
func (c *connection) ensure(ctx context.Context, lib *fcall.Library) error {
	if c.embedded == nil {
		return nil
	}
	if err := c.client.FunctionLoadReplace(ctx, lib.Code).Err(); err != nil {
		return fmt.Errorf("load %s into the embedded server: %w", lib.ServerName, err)
	}
	return nil
}
