package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/bundle"
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

// A target is where libraries are deployed to, and the connection that it is reached over.
type target struct {
	*loader.Target
	conn *connection
	name string // for messages: no password in it
}

// openTarget opens what --redis names as a target. It sends nothing yet. The caller closes it.
func (a *app) openTarget() (*target, error) {
	conn, err := a.connect()
	if err != nil {
		return nil, err
	}
	t := loader.NewTarget(conn.client)
	if conn.address != nil {
		t = conn.address.Open()
	}
	if a.noReplicas {
		t = t.WithoutReplicas()
	}
	return &target{Target: t, conn: conn, name: conn.name}, nil
}

func (t *target) close() {
	t.Target.Close()
	t.conn.close()
}

func (c *connection) close() {
	c.client.Close()
	if c.embedded != nil {
		c.embedded.Close()
	}
}

// explain says of a function that a server lacks whether the whole library is missing or an older version of it is there.
func (c *connection) explain(ctx context.Context, err error) error {
	var lost *fcall.NotLoadedError
	if !errors.As(err, &lost) || lost.Found != "" {
		return err
	}
	libs, listErr := c.client.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: lost.Library, WithCode: true}).Result()
	switch {
	case listErr != nil:
		return err
	case len(libs) == 0:
		lost.Absent = true
	default:
		lost.Found = "of an unknown version"
		if source, err := bundle.Read(libs[0].Code); err == nil {
			lost.Found = source.Version
		}
	}
	return lost
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
