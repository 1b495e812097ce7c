package envoyguard_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
)

// The numbers and lengths of a request may come from a client of Envoy.
func TestShouldRateLimit_hugeNumbersRefuseAndChargeNothing(t *testing.T) {
	f := serve(t, limits)
	refused := answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT"}, Error: "bad_request"}
	for _, hits := range []uint32{4, 1_000_001, math.MaxUint32} {
		r := edge(search("203.0.113.7"))
		r.HitsAddend = hits
		f.expect(t, r, refused)
	}
	for _, hits := range []uint64{4, 1_000_000_000_001, math.MaxUint64} {
		r := edge(search("203.0.113.7"))
		r.Descriptors[0].HitsAddend = wrapperspb.UInt64(hits)
		f.expect(t, r, refused)
	}
	for i := range 4 { // no hits are one
		r := edge(search("203.0.113.7"))
		r.Descriptors[0].HitsAddend = wrapperspb.UInt64(0)
		if a := f.ask(t, r); (a.Code == "OK") != (i < 3) {
			t.Errorf("request %d of 0 hits: %+v", i+1, a)
		}
	}
}

// Hits of a descriptor take the place of the request's.
func TestShouldRateLimit_hitsOfADescriptorWin(t *testing.T) {
	f := serve(t, limits)
	r := edge(search("203.0.113.7"), search("203.0.113.7"))
	r.HitsAddend = 3
	for _, d := range r.Descriptors {
		d.HitsAddend = wrapperspb.UInt64(1)
	}
	if a := f.ask(t, r); a.Code != "OK" || a.Statuses[0] != "OK search/hour HOUR 3 2 1h0m0s" {
		t.Errorf("%+v", a)
	}
	r.Descriptors[1].HitsAddend = nil
	r.HitsAddend = 2
	if a := f.ask(t, r); a.Code != "OK" || a.Statuses[0] != "OK search/hour HOUR 3 0 1h0m0s" {
		t.Errorf("%+v", a)
	}
}

func TestShouldRateLimit_manyEntriesAndDescriptors(t *testing.T) {
	f := serve(t, limits)
	long := &commonv3.RateLimitDescriptor{}
	for i := range 990 {
		long.Entries = append(long.Entries, &commonv3.RateLimitDescriptor_Entry{Key: "remote_address", Value: fmt.Sprint(i)})
	}
	f.expect(t, edge(long), answer{Code: "OK", Statuses: []string{"OK"}})
	f.expect(t, edge(long, search("203.0.113.7")), answer{
		Code: "OK", Statuses: []string{"OK", "OK search/hour HOUR 3 2 1h0m0s"},
		Headers: map[string]string{"ratelimit": `"hour";r=2;t=3600`, "ratelimit-policy": `"hour";q=3;w=3600`},
	})
	same, other := edge(), edge()
	for i := range 330 { // of two entries each

		same.Descriptors = append(same.Descriptors, search("203.0.113.8"))
		other.Descriptors = append(other.Descriptors, search(fmt.Sprintf("10.0.%d.%d", i>>8, i&255)))
	}
	for i := range 4 { // each request is one hit
		if a := f.ask(t, same); (a.Code == "OK") != (i < 3) || len(a.Statuses) != len(same.Descriptors) {
			t.Errorf("request %d: %s with %d statuses", i+1, a.Code, len(a.Statuses))
		}
	}
	if a := f.ask(t, other); a.Code != "OVER_LIMIT" || a.Error != "bad_request" {
		t.Errorf("%d clients in a request: %s %s", len(other.Descriptors), a.Code, a.Error)
	}
	empty, wide := edge(), edge(&commonv3.RateLimitDescriptor{})
	for range 1001 {
		empty.Descriptors = append(empty.Descriptors, &commonv3.RateLimitDescriptor{})
		wide.Descriptors[0].Entries = append(wide.Descriptors[0].Entries, &commonv3.RateLimitDescriptor_Entry{})
	}
	for _, r := range []*ratelimitv3.RateLimitRequest{empty, wide} {
		f.expect(t, r, answer{Code: "OVER_LIMIT", Error: "bad_request"})
	}
	keys := edge(descriptor(strings.Repeat("k", 1<<20), "x"), search("203.0.113.9"))
	if a := f.ask(t, keys); a.Code != "OK" {
		t.Errorf("a key of 1 MiB: %+v", a)
	}
}

// A shadow limit refuses nothing, however many hits a request has.
func TestShouldRateLimit_hitsAboveAShadowLimit(t *testing.T) {
	f := serve(t, `
timeout: 10s
endpoints:
  - name: search
    limits:
      - {name: hour, by: ip, kind: fixed_window, limit: 100, window: 1h}
      - {name: try, by: ip, kind: fixed_window, limit: 3, window: 1h, shadow: true}
descriptors: [{domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: search}]
`)
	r := edge(from("203.0.113.7"))
	r.HitsAddend = 50
	if a := f.ask(t, r); a.Code != "OK" || a.Statuses[0] != "OK search/hour HOUR 100 50 1h0m0s" {
		t.Errorf("%+v", a)
	}
}

// Envoy lets a request pass whose answer comes after its own timeout, so a silent Redis must not use all of it.
func TestShouldRateLimit_answersBeforeTheDeadline(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	rdb := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), MaxRetries: -1, DialTimeout: time.Second, ReadTimeout: time.Second})
	defer rdb.Close()
	p := parse(t, `
timeout: 10s
endpoints:
  - {name: login, limits: [{name: minute, by: ip, limit: 10, window: 1m, on_failure: closed}]}
descriptors:
  - {domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: login}
`)
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s, err := envoyguard.New(g, envoyguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	got, err := s.ShouldRateLimit(ctx, edge(from("203.0.113.7")))
	if err != nil {
		t.Fatal(err)
	}
	if a := read(got); a.Code != "OVER_LIMIT" || a.Error != "limiter_unavailable" || ctx.Err() != nil {
		t.Errorf("%+v, and the deadline: %v", a, ctx.Err())
	}
}

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
