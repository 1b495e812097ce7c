package faults

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rlfunc/rlfunc/internal/engines"
)

const (
	cutOff   = "outcome unknown: connection"
	notBegun = "nothing ran: connection"
	tooLate  = "outcome unknown: timeout"
	noTime   = "nothing ran: timeout"

	inFunction = "outcome unknown: in the function"
)

func allSlotsAt(addr string) func(context.Context) ([]redis.ClusterSlot, error) {
	return func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
	}
}

// Faults of a network: a caller whose call may have run gets an error that says so, no call is charged twice, and calls succeed
// after the fault. Where some data goes through, connections are made and break repeatedly.
func TestNetwork_whatBreaksConnections(t *testing.T) {
	server := engines.OnPath(t).StartCluster(t, 1, 0).Primaries[0]
	for _, f := range []struct {
		name  string
		toxic toxic
		await string   // the class of failure that it is about
		also  []string // what else may come of it
	}{
		{"a connection breaks behind a request", toxic{"limit_data", "downstream", map[string]int{"bytes": 6000}}, cutOff, []string{notBegun, tooLate, noTime}},
		{"a connection breaks within a request", toxic{"limit_data", "upstream", map[string]int{"bytes": 6000}}, cutOff, []string{notBegun, tooLate, noTime}},
		{"connections are reset", toxic{"reset_peer", "downstream", map[string]int{"timeout": 1}}, cutOff, []string{notBegun, tooLate, noTime}},
	} {
		t.Run(f.name, func(t *testing.T) {
			flush(t, server)
			p := startProxy(t, server.Addr)
			tr := begin(t, load{clients: through(t, p.Listen)})
			p.suffer(t, f.toxic)
			tr.awaitFailed(t, f.await, 20)
			p.reset(t)
			tr.awaitAnswers(t, 500)
			r := tr.end(t)
			r.only(t, append(f.also, f.await)...)
			r.nothingDestroyed(t)
			r.within(t, tr.deadline)
		})
	}
}

// A network that swallows what it gets, or is slower than the caller can wait: the caller's deadline holds over every kind of
// client, also where go-redis itself would wait for its own timeouts.
func TestNetwork_deadlinesHold(t *testing.T) {
	server := engines.OnPath(t).StartCluster(t, 1, 0).Primaries[0]
	deploy(t, server.Client(t))
	for _, f := range []struct {
		name  string
		toxic toxic
	}{
		{"nothing goes through", toxic{"timeout", "upstream", map[string]int{"timeout": 0}}},
		{"replies take a second", toxic{"latency", "downstream", map[string]int{"latency": 1000}}},
	} {
		t.Run(f.name, func(t *testing.T) {
			flush(t, server)
			p := startProxy(t, server.Addr)
			tr := begin(t, load{clients: append(through(t, p.Listen), byDefaults(t, p.Listen)...), deadline: 100 * time.Millisecond, absent: true})
			p.suffer(t, f.toxic)
			tr.await(t, "late calls", func(r report) bool {
				return r.Failed[tooLate] >= workers && r.Failed[tooLate]+r.Failed[noTime] >= 5*workers
			})
			p.reset(t)
			tr.awaitAnswers(t, 500)
			r := tr.end(t)
			r.only(t, tooLate, noTime, cutOff, notBegun)
			r.nothingDestroyed(t)
			r.within(t, tr.deadline)
		})
	}
}

// Replies that come in pieces, slowly, are replies.
func TestNetwork_repliesInPiecesFailNoCall(t *testing.T) {
	server := engines.OnPath(t).StartCluster(t, 1, 0).Primaries[0]
	p := startProxy(t, server.Addr)
	tr := begin(t, load{clients: through(t, p.Listen), deadline: 2 * time.Second})
	p.suffer(t, toxic{"slicer", "downstream", map[string]int{"average_size": 3, "size_variation": 2, "delay": 100}})
	p.suffer(t, toxic{"bandwidth", "downstream", map[string]int{"rate": 100}})
	tr.awaitAnswers(t, 500)
	r := tr.end(t)
	r.none(t)
	r.nothingDestroyed(t)
}

// No connection can be made: every caller knows that nothing ran.
func TestNetwork_gone(t *testing.T) {
	server := engines.OnPath(t).StartCluster(t, 1, 0).Primaries[0]
	p := startProxy(t, server.Addr)
	tr := begin(t, load{clients: through(t, p.Listen), deadline: 2 * time.Second}) // on a busy machine few answers are later
	p.Stop()
	tr.awaitFailed(t, notBegun, 100)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	tr.awaitAnswers(t, 500)
	r := tr.end(t)
	r.only(t, notBegun, cutOff, tooLate, noTime) // cut off, or late: those that were under way at the first moment
	r.nothingDestroyed(t)
	r.within(t, tr.deadline)
	if r.Failed[cutOff]+r.Failed[tooLate] > 3*workers { // three consume at once
		t.Errorf("more calls were cut off than can be under way: %s", r)
	}
}

// flush removes the keys of the test before.
func flush(t *testing.T, m *engines.Member) {
	t.Helper()
	if err := m.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

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
