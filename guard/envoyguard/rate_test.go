package envoyguard_test

import (
	"math"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rlfunc/rlfunc/guard"
)

const dynamicLimits = `
timeout: 10s
endpoints:
  - {name: search, limits: [{name: hour, by: ip, kind: fixed_window, limit: 3, window: 1h, dynamic_max: 1000}]}
  - {name: login, limits: [{name: hour, by: ip, limit: 3, window: 1h}]}
  - {name: total, limits: [{name: hour, by: all, kind: fixed_window, limit: 3, window: 1h, dynamic_max: 1000}]}
descriptors:
  - {domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: search}
  - {domain: edge, entries: [{key: route, value: search}, {key: remote_address, identity: ip}], endpoint: search}
  - {domain: edge, entries: [{key: route, value: login}, {key: remote_address, identity: ip}], endpoint: login}
  - {domain: edge, entries: [{key: generic_key, value: total}], endpoint: total}
`

// with returns a descriptor with a limit of its own.
func with(n uint32, unit typev3.RateLimitUnit, d *commonv3.RateLimitDescriptor) *commonv3.RateLimitDescriptor {
	d.Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: n, Unit: unit}
	return d
}

// first returns the first status, without the time until the reset.
func (f *fixture) first(t *testing.T, descriptors ...*commonv3.RateLimitDescriptor) string {
	t.Helper()
	a := f.ask(t, edge(descriptors...))
	status := strings.Fields(a.Statuses[0])
	if len(status) > 5 {
		status = status[:5]
	}
	if a.Error != "" {
		status = append(status, a.Error)
	}
	return strings.Join(status, " ")
}

func TestShouldRateLimit_limitOfADescriptor(t *testing.T) {
	const (
		minute, hour = typev3.RateLimitUnit_MINUTE, typev3.RateLimitUnit_HOUR
		badRequest   = "OVER_LIMIT bad_request"
	)
	several := with(50, minute, from("203.0.113.9"))
	several.Limit.UnitMultiplier = wrapperspb.UInt32(30)
	one := with(50, minute, from("203.0.113.9"))
	one.Limit.UnitMultiplier = wrapperspb.UInt32(1)
	for what, c := range map[string]struct {
		of   *commonv3.RateLimitDescriptor
		want string
	}{
		"none":                            {from("203.0.113.9"), "OK search/hour HOUR 3 2"},
		"more in the same unit":           {with(1000, hour, from("203.0.113.9")), "OK search/hour HOUR 1000 999"},
		"fewer in the same unit":          {with(1, hour, from("203.0.113.9")), "OK search/hour HOUR 1 0"},
		"another unit":                    {with(16, minute, from("203.0.113.9")), "OK search/hour MINUTE 16 15"},
		"a longer unit":                   {with(1000, typev3.RateLimitUnit_YEAR, from("203.0.113.9")), "OK search/hour YEAR 1000 999"},
		"above the bound":                 {with(1001, hour, from("203.0.113.9")), "OK search/hour HOUR 1000 999"},
		"above the bound by a short unit": {with(17, minute, from("203.0.113.9")), "OK search/hour HOUR 1000 999"},
		"2^32-1 a second":                 {with(math.MaxUint32, typev3.RateLimitUnit_SECOND, from("203.0.113.9")), "OK search/hour HOUR 1000 999"},
		"2^32-1 a year":                   {with(math.MaxUint32, typev3.RateLimitUnit_YEAR, from("203.0.113.9")), "OK search/hour HOUR 1000 999"},
		"0":                               {with(0, minute, from("203.0.113.9")), "OVER_LIMIT search/hour MINUTE 0 0 limit"},
		"0 of unit UNKNOWN":               {with(0, typev3.RateLimitUnit_UNKNOWN, from("203.0.113.9")), badRequest},
		"unit UNKNOWN":                    {with(50, typev3.RateLimitUnit_UNKNOWN, from("203.0.113.9")), badRequest},
		"a unit that does not exist":      {with(50, 99, from("203.0.113.9")), badRequest},
		"30 minutes":                      {several, badRequest},
		"1 minute, as a multiple":         {one, "OK search/hour HOUR 1000 999"},
		"of a limit that is not dynamic":  {with(50, minute, descriptor("route", "login", "remote_address", "203.0.113.9")), "OK login/hour HOUR 3 2"},
	} {
		if got := serve(t, dynamicLimits).first(t, c.of); got != c.want {
			t.Errorf("%s: got %q, want %q", what, got, c.want)
		}
	}
	// Two limits of one endpoint are one only if they are equal.
	serve(t, dynamicLimits).expect(t, edge(with(5, hour, from("203.0.113.9")), with(6, hour, from("203.0.113.9"))), answer{
		Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT", "OVER_LIMIT"}, Error: "bad_request",
	})
	if got := serve(t, dynamicLimits).first(t, with(5, hour, from("203.0.113.9")), with(5, hour, from("203.0.113.9"))); got != "OK search/hour HOUR 5 4" {
		t.Errorf("two equal limits: %s", got)
	}
	// A limit of 0 charges nothing, and no wait helps.
	f := serve(t, dynamicLimits)
	f.expect(t, edge(with(0, hour, from("203.0.113.9")), descriptor("generic_key", "total")), answer{
		Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT search/hour HOUR 0 0 0s", "OK"}, Error: "limit",
	})
	if got := f.first(t, from("203.0.113.9")); got != "OK search/hour HOUR 3 2" {
		t.Errorf("after a limit of 0: %s", got)
	}
	// Two descriptors of an endpoint agree, or one has a limit.
	route := func(d *commonv3.RateLimitDescriptor) *commonv3.RateLimitDescriptor {
		d.Entries = append(descriptor("route", "search").Entries, d.Entries...)
		return d
	}
	address := func() *commonv3.RateLimitDescriptor { return from("203.0.113.10") }
	for i, c := range []struct {
		one, other *commonv3.RateLimitDescriptor
		want       string
	}{
		{with(9, hour, address()), route(with(9, hour, address())), "OK search/hour HOUR 9 8"},
		{with(9, hour, address()), route(address()), "OK search/hour HOUR 9 7"},
		{with(9, hour, address()), route(with(8, hour, address())), badRequest},
	} {
		if got := f.first(t, c.one, c.other); got != c.want {
			t.Errorf("pair %d: got %q, want %q", i, got, c.want)
		}
	}
}

// Each request is held to its own limit over what all have taken, whichever units they have. Cached refusals hold for one limit only.
func TestShouldRateLimit_limitOfADescriptorKeepsTheCount(t *testing.T) {
	const hour, day = typev3.RateLimitUnit_HOUR, typev3.RateLimitUnit_DAY
	for _, kind := range []string{"fixed_window", "sliding_log"} {
		for _, cache := range []int{-1, 100} {
			limits := strings.NewReplacer("fixed_window", kind, "dynamic_max: 1000", "dynamic_max: 1000000").Replace(dynamicLimits)
			f := serveWith(t, limits, guard.Options{CacheSize: cache})
			for _, ask := range []func() *commonv3.RateLimitDescriptor{
				func() *commonv3.RateLimitDescriptor { return from("203.0.113.9") },
				func() *commonv3.RateLimitDescriptor { return descriptor("generic_key", "total") },
			} {
				refused := func(what string, d *commonv3.RateLimitDescriptor) {
					t.Helper()
					if got := f.first(t, d); !strings.HasPrefix(got, "OVER_LIMIT") {
						t.Errorf("%s, cache %d, %s: %s", kind, cache, what, got)
					}
				}
				allowed := func(what string, d *commonv3.RateLimitDescriptor) {
					t.Helper()
					if got := f.first(t, d); !strings.HasPrefix(got, "OK") {
						t.Errorf("%s, cache %d, %s: %s", kind, cache, what, got)
					}
				}
				for range 3 {
					allowed("the policy's limit", ask())
				}
				refused("the policy's limit", ask())
				allowed("4 of 4 an hour", with(4, hour, ask()))
				refused("5 of 4 an hour", with(4, hour, ask()))
				refused("5 of 4 a day", with(4, day, ask()))
				allowed("5 of 5 a day", with(5, day, ask()))
				// Every unit, so that a bucket has as many windows as an override can give it.
				for unit := typev3.RateLimitUnit_SECOND; unit <= typev3.RateLimitUnit_YEAR; unit++ {
					refused("5 of "+unit.String(), with(5, unit, ask()))
				}
				allowed("6 of 1000", with(1000, hour, ask()))
				f.clock.Advance(10 * time.Minute)
				refused("the policy's limit again", ask())
				refused("6 of 6 a day", with(6, day, ask()))
			}
		}
	}
}
