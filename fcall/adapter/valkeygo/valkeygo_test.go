// Code generated from adapter/rueidis by go test ./fcall/adapter -update. DO NOT EDIT.

package valkeygo_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/valkey-io/valkey-go"

	adapter "github.com/rlfunc/rlfunc/fcall/adapter/valkeygo"
	"github.com/rlfunc/rlfunc/internal/callertest"
)

// Each way in which valkey-go sends commands passes the suite.
func TestClient_passesTheSuite(t *testing.T) {
	for name, change := range map[string]func(*valkey.ClientOption){
		"default":               func(*valkey.ClientOption) {},
		"AlwaysPipelining":      func(o *valkey.ClientOption) { o.AlwaysPipelining = true },
		"DisableAutoPipelining": func(o *valkey.ClientOption) { o.DisableAutoPipelining = true },
		"AlwaysRESP2":           func(o *valkey.ClientOption) { o.AlwaysRESP2, o.DisableCache = true, true },
	} {
		t.Run(name, func(t *testing.T) { callertest.Run(t, opener(change)) })
	}
}

// Without client-side caching, valkey-go needs no permission that go-redis does not need.
func TestClient_needsNoMorePermissions(t *testing.T) {
	callertest.RunWithLeastPermissions(t, opener(func(o *valkey.ClientOption) { o.DisableCache = true }))
}

func opener(change func(*valkey.ClientOption)) callertest.Open {
	return func(t *testing.T, to callertest.Target) callertest.Client {
		o := valkey.ClientOption{
			InitAddress: to.Addrs, Username: to.Username, Password: to.Password, DisableRetry: true, ConnWriteTimeout: callertest.Timeout,
			ForceSingleClient: !to.Cluster && to.Sentinel == "", Sentinel: valkey.SentinelOption{MasterSet: to.Sentinel},
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
		t.Cleanup(c.Valkey.Close)
		return c
	}
}
