package adapter_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/adapter"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/servers"
)

// twoNodes is a cluster of two nodes, each with half of the slots, at 1 ms from here.
type twoNodes struct {
	mu   sync.Mutex
	sent [][]adapter.Command
}

const half = servers.Slots / 2

func (n *twoNodes) Send(_ context.Context, commands []adapter.Command) []adapter.Reply {
	if commands[0].Words[0] == "CLUSTER" {
		row := func(first, last, port int64) []any { return []any{first, last, []any{"127.0.0.1", port}} }
		return []adapter.Reply{{Value: []any{row(0, half-1, 1), row(half, 2*half-1, 2)}}}
	}
	n.mu.Lock()
	n.sent = append(n.sent, commands)
	n.mu.Unlock()
	time.Sleep(time.Millisecond)
	return slices.Repeat([]adapter.Reply{{Value: []any{int64(1)}}}, len(commands))
}

// Calls to one node share round trips, and never with those to another node, which may not answer.
func TestClient_callsShareRoundTripsByNode(t *testing.T) {
	nodes := new(twoNodes)
	rdb, err := adapter.New(nodes, true)
	if err != nil {
		t.Fatal(err)
	}
	const callers, each = 64, 10
	for unshared := range 2 {
		c, err := fcall.NewClient(rdb, counting.Library, fcall.Options{NoSharing: unshared == 1})
		if err != nil {
			t.Fatal(err)
		}
		nodes.sent = nil
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for range each {
					r, err := c.Call(t.Context(), counting.Function("hit"), []string{fmt.Sprint(i)}, nil)
					if err != nil || r.Int("n") != 1 {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		total := 0
		for _, commands := range nodes.sent {
			total += len(commands)
			first := servers.Slot(commands[0].Key) / half
			if slices.ContainsFunc(commands, func(c adapter.Command) bool { return servers.Slot(c.Key)/half != first }) {
				t.Errorf("calls to two nodes in one round trip: %v", commands)
			}
		}
		if shared := len(nodes.sent) < total; total != callers*each || shared == (unshared == 1) {
			t.Errorf("%d calls in %d round trips, with NoSharing %v", total, len(nodes.sent), unshared == 1)
		}
	}
}
