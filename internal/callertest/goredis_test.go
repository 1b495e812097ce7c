package callertest

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
)

func TestGoRedis_passesTheSuite(t *testing.T) {
	Run(t, openGoRedis)
}

func TestGoRedis_needsNoMorePermissions(t *testing.T) { RunWithLeastPermissions(t, openGoRedis) }

func openGoRedis(t *testing.T, to Target) guard.Redis {
	o := &redis.UniversalOptions{
		Addrs: to.Addrs, MasterName: to.Sentinel, IsClusterMode: to.Cluster, Username: to.Username, Password: to.Password,
		ReadTimeout: Timeout, DialerRetries: 1,
	}
	if to.Via != "" {
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, to.Via)
		}
	}
	c := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
