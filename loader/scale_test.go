package loader_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/loader"
)

// late forwards bytes after a delay, in order and without a limit on the rate.
func late(to io.WriteCloser, from io.Reader, delay time.Duration) {
	type piece struct {
		due  time.Time
		text []byte
	}
	pieces := make(chan piece, 1000)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 1<<16)
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			pieces <- piece{time.Now().Add(delay), buffer[:n]}
		}
	}()
	defer to.Close()
	for p := range pieces {
		time.Sleep(time.Until(p.due)) // this is the network, not a test that waits
		if _, err := to.Write(p.text); err != nil {
			return
		}
	}
}

// far returns an address of the server with the given round trip.
func far(t *testing.T, upstream string, trip time.Duration) string {
	return counting.Listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", upstream)
		if err != nil {
			client.Close()
			return
		}
		go late(server, client, trip/2)
		late(client, server, trip/2)
	})
}

// A hundred primaries at 50 ms. The log has the time, which docs/reference/faults.md states.
func TestScale_hundredDistantPrimaries(t *testing.T) {
	t.Parallel()
	const nodes, trip, most = 100, 50 * time.Millisecond, time.Minute // one node after another takes minutes, on any machine
	_, slots := primaries(t, nodes)
	for i, s := range slots {
		slots[i].Nodes = []redis.ClusterNode{{Addr: far(t, s.Nodes[0].Addr, trip)}}
	}
	client := withSlots(slots, "", none)
	defer client.Close()
	target := loader.NewTarget(client)

	began := time.Now()
	var libs []*fcall.Library
	for _, name := range []string{"shop", "other", "more", "much", "most"} {
		lib := bundle(name, "1.0.0", "buy")
		lib.Code += "-- " + strings.Repeat("x", 30<<10) + "\n" // about what the libraries of this module have
		libs = append(libs, lib)
	}
	p := planOf(t, target, libs...)
	planned := time.Since(began)
	r, err := target.Apply(context.Background(), p, as("anna"))
	took := time.Since(began)
	equal(t, "error and loads", []any{nil, 5 * nodes}, []any{err, r.Changed()})
	t.Logf("%d primaries at %s: plan %.1f s, plan and deploy %.1f s", nodes, trip, planned.Seconds(), took.Seconds())
	if took > most {
		t.Errorf("plan and deploy took %s", took)
	}
	size := 0
	for _, event := range client.LRange(t.Context(), "rlfunc:{deploy}:history", 0, -1).Val() {
		size += len(event)
	}
	if size == 0 || size > 2*4096 {
		t.Errorf("the history of one operation takes %d bytes", size)
	}
}
