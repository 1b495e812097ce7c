package faults

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
)

const (
	cutOff   = "outcome unknown: connection"
	notBegun = "nothing ran: connection"
	tooLate  = "outcome unknown: timeout"
	noTime   = "nothing ran: timeout"

	inFunction = "outcome unknown: in the function"
	inScript   = "outcome unknown: in the script" // which a server does not refuse before it runs, but at its first write
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
		{"connections are reset", toxic{"reset_peer", "downstream", map[string]int{"timeout": 1}}, notBegun, []string{cutOff, tooLate, noTime}},
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
