package rueidis_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/redis/rueidis"

	adapter "github.com/rlfunc/rlfunc/fcall/adapter/rueidis"
	"github.com/rlfunc/rlfunc/internal/callertest"
)

// Each way in which rueidis sends commands passes the suite.
func TestClient_passesTheSuite(t *testing.T) {
	for name, change := range map[string]func(*rueidis.ClientOption){
		"default":               func(*rueidis.ClientOption) {},
		"AlwaysPipelining":      func(o *rueidis.ClientOption) { o.AlwaysPipelining = true },
		"DisableAutoPipelining": func(o *rueidis.ClientOption) { o.DisableAutoPipelining = true },
		"AlwaysRESP2":           func(o *rueidis.ClientOption) { o.AlwaysRESP2, o.DisableCache = true, true },
	} {
		t.Run(name, func(t *testing.T) { callertest.Run(t, opener(change)) })
	}
}

// Without client-side caching, rueidis needs no permission that go-redis does not need.
func TestClient_needsNoMorePermissions(t *testing.T) {
	callertest.RunWithLeastPermissions(t, opener(func(o *rueidis.ClientOption) { o.DisableCache = true }))
}

func opener(change func(*rueidis.ClientOption)) callertest.Open {
	return func(t *testing.T, to callertest.Target) callertest.Client {
		o := rueidis.ClientOption{
			InitAddress: to.Addrs, Username: to.Username, Password: to.Password, DisableRetry: true, ConnWriteTimeout: callertest.Timeout,
			ForceSingleClient: !to.Cluster && to.Sentinel == "", Sentinel: rueidis.SentinelOption{MasterSet: to.Sentinel},
		}
		o.Dialer.KeepAlive = callertest.Timeout
		if to.Via != "" {
			o.DialCtxFn = func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return d.DialContext(ctx, "tcp", to.Via)
			}
		}
		change(&o)
		c, err := adapter.New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Rueidis.Close)
		return c
	}
}
