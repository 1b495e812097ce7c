package callertest

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestGoRedis_passesTheSuite(t *testing.T) {
	Run(t, openGoRedis)
}

func TestGoRedis_needsNoMorePermissions(t *testing.T) { RunWithLeastPermissions(t, openGoRedis) }

// Also the clients of go-redis that the suite does not open lose no more than it allows.
func TestGoRedis_everyKindOfClient(t *testing.T) {
	at := places(t)
	bounded := func(to Target) *redis.UniversalOptions {
		o := options(to)
		o.ContextTimeoutEnabled = true
		return o
	}
	for name, kind := range map[string]func(Target) redis.UniversalClient{
		"bounded":      func(to Target) redis.UniversalClient { return redis.NewUniversalClient(bounded(to)) },
		"ring":         func(to Target) redis.UniversalClient { return ring(options(to)) },
		"bounded ring": func(to Target) redis.UniversalClient { return ring(bounded(to)) },
		"transactions": func(to Target) redis.UniversalClient { return transactional{redis.NewUniversalClient(options(to))} },
	} {
		s := suite{at: at, open: func(t *testing.T, to Target) Client { return closed(t, kind(to)) }}
		t.Run(name+"/runs at most once", s.runsAtMostOnce)
		t.Run(name+"/ends with its context", s.endsWithItsContext)
		t.Run(name+"/read-only calls", s.readOnlyIsRepeated)
		t.Run(name+"/left call", s.leftCall)
		t.Run(name+"/breaking connections", s.breakingConnections)
		t.Run(name+"/no server", s.noServer)
	}
	conn := suite{at: at, open: func(t *testing.T, to Target) Client {
		return closed(t, redis.NewClient(options(to).Simple())).(*redis.Client).Conn()
	}}
	t.Run("connection/runs at most once", conn.runsAtMostOnce)
	t.Run("connection/no server", conn.noServer)
}

func ring(o *redis.UniversalOptions) *redis.Ring {
	return redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"one": o.Addrs[0]}, Dialer: o.Dialer, ReadTimeout: o.ReadTimeout, ContextTimeoutEnabled: o.ContextTimeoutEnabled,
	})
}

// A transactional client queues calls in transactions.
type transactional struct{ redis.UniversalClient }

func (c transactional) Pipeline() redis.Pipeliner { return c.TxPipeline() }

func openGoRedis(t *testing.T, to Target) Client {
	return closed(t, redis.NewUniversalClient(options(to)))
}

func closed(t *testing.T, c redis.UniversalClient) redis.UniversalClient {
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func options(to Target) *redis.UniversalOptions {
	o := &redis.UniversalOptions{
		Addrs: to.Addrs, MasterName: to.Sentinel, IsClusterMode: to.Cluster, Username: to.Username, Password: to.Password,
		ReadTimeout: Timeout, DialerRetries: 1,
	}
	if to.Via != "" {
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, to.Via)
		}
	}
	return o
}
