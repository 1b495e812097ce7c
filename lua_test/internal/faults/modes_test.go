package faults

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A mode is one of the ways in which users call. The traffic calls in all of them at the same time.
type mode string

const (
	plain    mode = "plain"
	unshared mode = "unshared"
	queued   mode = "queued"
	scripts  mode = "scripts"
)

// modesOf are the modes in which a client can be used.
func modesOf(client redis.UniversalClient) []mode {
	bounded := true // else the Exec of a pipeline would end with go-redis' own timeouts
	switch c := client.(type) {
	case *redis.Ring:
		return []mode{plain, queued}
	case *redis.Client:
		bounded = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		bounded = c.Options().ContextTimeoutEnabled
	}
	if !bounded {
		return []mode{plain, unshared}
	}
	return []mode{plain, unshared, queued, scripts}
}

// withOthers adds to a client of one server the other kinds of client of that server.
func withOthers(t testing.TB, c *redis.Client) []redis.UniversalClient {
	t.Helper()
	return []redis.UniversalClient{c, ringOf(t, c)}
}

// ringOf is a ring of the one server that a client calls.
func ringOf(t testing.TB, c *redis.Client) *redis.Ring {
	t.Helper()
	o := c.Options()
	ring := redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"one": o.Addr}, ContextTimeoutEnabled: true, Dialer: o.Dialer, Username: o.Username, Password: o.Password,
	})
	t.Cleanup(func() { ring.Close() })
	return ring
}

// ask makes a call in the service's mode. Of a call that was queued, and of which nothing ran, its caller makes one by itself.
func ask[P, R any, Q interface{ Result() (R, error) }](ctx context.Context, s *service, p P, call func(context.Context, P) (R, error), queue func(context.Context, redis.Pipeliner, P) Q) (R, error) {
	if s.mode != queued {
		return call(ctx, p)
	}
	pipe := s.client.Pipeline()
	pending := queue(ctx, pipe, p)
	_, _ = pipe.Exec(ctx)
	r, err := pending.Result()
	if errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrNotLoaded) {
		return call(ctx, p)
	}
	return r, err
}
