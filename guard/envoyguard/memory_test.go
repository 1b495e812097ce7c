package envoyguard_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
)

// After requests of many different clients, allowed and refused, the service holds no more memory than after a few.
func TestShouldRateLimit_memoryDoesNotGrowWithClients(t *testing.T) {
	few, many := 500, 2500
	if !testing.Short() {
		many = 50_000
	}
	rdb := embedded.New(embedded.Options{}).Client()
	g, err := guard.New(rdb, parse(t, `
timeout: 10s
endpoints: [{name: login, limits: [{name: hour, by: ip, kind: fixed_window, limit: 1, window: 1h}]}]
descriptors: [{domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: login}]
`), guard.Options{CacheSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s, err := envoyguard.New(g, envoyguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	heap := func(start, end int) int64 {
		for i := start; i < end; i++ {
			for range 1 + i%2 { // every second client is refused, and cached
				if _, err := s.ShouldRateLimit(context.Background(), edge(from(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)))); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := rdb.FlushDB(t.Context()).Err(); err != nil { // this Redis is in the process
			t.Fatal(err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap(0, few)
	if grown := heap(few, many) - before; grown > int64(many-few)*100 {
		t.Errorf("the heap grew by %d bytes over %d clients", grown, many-few)
	}
}
