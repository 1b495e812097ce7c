package faults

import (
	"encoding/json"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/rlfunc/rlfunc/fcall"
)

// A proxy stands between callers and a server, and is the network that breaks.
type proxy struct {
	*toxiproxy.Proxy
	upstream string
}

func startProxy(t testing.TB, upstream string) *proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{toxiproxy.NewProxy(server, "network", "127.0.0.1:0", upstream), upstream}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// A toxic is one thing that a network does to what goes through it.
type toxic struct {
	Type       string         `json:"type"`
	Stream     string         `json:"stream"` // "upstream": requests; "downstream": replies
	Attributes map[string]int `json:"attributes"`
}

// suffer begins something, also on the connections that there are.
func (p *proxy) suffer(t testing.TB, x toxic) {
	t.Helper()
	text, err := json.Marshal(x)
	if err == nil {
		_, err = p.Toxics.AddToxicJson(strings.NewReader(string(text)))
	}
	if err != nil {
		t.Fatalf("%+v: %v", x, err)
	}
}

// heal ends all that goes on.
func (p *proxy) heal(t testing.TB) { p.Toxics.ResetToxics(t.Context()) }

// through are the ways over the proxy to its server, which is a cluster of one node.
var through = []struct {
	name string
	open func(t *testing.T, addr string) fcall.Caller
}{
	{"client", func(t *testing.T, addr string) fcall.Caller {
		c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
		t.Cleanup(func() { c.Close() })
		return c
	}},
	{"client with go-redis' defaults", func(t *testing.T, addr string) fcall.Caller {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { c.Close() })
		return c
	}},
	{"auto-pipeliner", func(t *testing.T, addr string) fcall.Caller {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { c.Close() })
		ap, err := c.AutoPipeline()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ap.Close() })
		return ap
	}},
	{"cluster client with go-redis' defaults", func(t *testing.T, addr string) fcall.Caller {
		c := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: allSlotsAt(addr)})
		t.Cleanup(func() { c.Close() })
		return c
	}},
}
