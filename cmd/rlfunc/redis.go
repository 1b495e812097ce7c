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

// A connection is the server that a command works on.
type connection struct {
	client   redis.UniversalClient
	embedded *embedded.Server // nil for a real one
	name     string           // for messages: no password in it
}

// connect opens what --redis names. It sends nothing yet.
func (a *app) connect() (*connection, error) {
	if a.redis == "" {
		return nil, errors.New("no server: give --redis redis://host:6379 (or set REDIS_URL), or --redis embedded")
	}
	if a.redis == "embedded" {
		server := embedded.New(embedded.Options{})
		return &connection{client: server.Client(), embedded: server, name: "embedded"}, nil
	}
	address, err := loader.ParseURL(a.redis)
	if err != nil {
		return nil, err
	}
	return &connection{client: address.NewClient(), name: address.String()}, nil
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
