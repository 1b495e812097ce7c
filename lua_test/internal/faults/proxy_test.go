package faults

import (
	"encoding/json"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
)

// A proxy stands between callers and a server, and is the network that breaks.
type proxy struct {
	*toxiproxy.Proxy
	upstream string
}

func startProxy(t testing.TB, upstream string) *proxy {
	t.Helper()
	server := silent(toxiproxy.NewServer, toxiproxy.NewMetricsContainer(nil))
	p := &proxy{toxiproxy.NewProxy(server, "network", "127.0.0.1:0", upstream), upstream}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// silent returns a server of toxiproxy with the zero logger L, which writes nothing.
func silent[M, L any](newServer func(M, L) *toxiproxy.ApiServer, metrics M) *toxiproxy.ApiServer {
	var none L
	return newServer(metrics, none)
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

// reset ends all faults.
func (p *proxy) reset(t testing.TB) { p.Toxics.ResetToxics(t.Context()) }

// through are clients that go over the proxy to its server, which is a cluster of one node, and end with a call's context.
func through(t *testing.T, addr string) []redis.UniversalClient {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: allSlotsAt(addr), ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close(); cluster.Close() })
	return append(withOthers(t, c), cluster)
}

// byDefaults are such clients as go-redis makes them, which wait for their own timeouts.
func byDefaults(t *testing.T, addr string) []redis.UniversalClient {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: allSlotsAt(addr)})
	t.Cleanup(func() { c.Close(); cluster.Close() })
	return []redis.UniversalClient{c, cluster}
}
