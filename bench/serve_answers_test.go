package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Both have 3 requests an hour for each user, and 2 an hour for the route.
const ourAnswers = `
timeout: 10s
identities: {user: {header: X-User, claimed: true}}
endpoints:
  - {name: user, unbounded: true, limits: [{name: hour, by: user, kind: fixed_window, limit: 3, window: 1h}]}
  - {name: search, limits: [{name: hour, by: all, kind: fixed_window, limit: 2, window: 1h}]}
  - {name: plan, unbounded: true, limits: [{name: hour, by: user, kind: fixed_window, limit: 3, window: 1h}]}
descriptors:
  - {domain: edge, entries: [{key: plan, identity: user}], endpoint: plan}
  - {domain: edge, entries: [{key: user, identity: user}], endpoint: user}
  - {domain: edge, entries: [{key: route, value: search}], endpoint: search}
`

const theirAnswers = `
domain: edge
descriptors:
  - {key: plan, rate_limit: {unit: hour, requests_per_unit: 3}}
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 3}}
  - {key: route, value: search, rate_limit: {unit: hour, requests_per_unit: 2}}
`

func one(key, value string) *commonv3.RateLimitDescriptor {
	return &commonv3.RateLimitDescriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: key, Value: value}}}
}

func asked(descriptors ...*commonv3.RateLimitDescriptor) *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{Domain: "edge", Descriptors: descriptors}
}

func hits(n uint32, r *ratelimitv3.RateLimitRequest) *ratelimitv3.RateLimitRequest {
	r.HitsAddend = n
	return r
}

func hitsOf(n uint64, d *commonv3.RateLimitDescriptor) *commonv3.RateLimitDescriptor {
	d.HitsAddend = wrapperspb.UInt64(n)
	return d
}

func shown(r *ratelimitv3.RateLimitResponse, err error) string {
	if err != nil {
		return "error " + status.Code(err).String()
	}
	var b strings.Builder
	b.WriteString(r.OverallCode.String() + ":")
	for _, s := range r.Statuses {
		fmt.Fprintf(&b, " %s", s.Code)
		if l := s.CurrentLimit; l != nil {
			fmt.Fprintf(&b, " %d/%s %d left", l.RequestsPerUnit, l.Unit, s.LimitRemaining)
		}
		if s.DurationUntilReset.AsDuration() > 0 {
			b.WriteString(" reset")
		}
		if s.Quota != nil {
			b.WriteString(" quota")
		}
	}
	for _, h := range r.ResponseHeadersToAdd {
		if !strings.HasPrefix(h.Key, "ratelimit") { // ours have ratelimit and ratelimit-policy whenever a limit is shown
			b.WriteString(" +" + h.Key)
		}
	}
	for key, v := range r.GetDynamicMetadata().GetFields() {
		b.WriteString(" " + key + "=" + v.GetStringValue())
	}
	return b.String()
}

// docs/serve.md explains the differences.
func TestServe_answersBesideEnvoysService(t *testing.T) {
	program := os.Getenv("RLFUNC_ENVOY_RATELIMIT")
	if program == "" {
		t.Skip("SKIPPED: RLFUNC_ENVOY_RATELIMIT does not name a program of envoyproxy/ratelimit")
	}
	srv, err := startServer(t.Context(), settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	ours, err := startServe(t.Context(), srv, t.TempDir(), ourAnswers)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.stop()
	theirs, err := startEnvoy(t.Context(), srv, t.TempDir(), program, theirAnswers)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.stop()
	user := func(name string) *commonv3.RateLimitDescriptor { return one("user", name) }
	negative := hitsOf(1, user("negative"))
	negative.IsNegativeHits = true
	const minute, hour = typev3.RateLimitUnit_MINUTE, typev3.RateLimitUnit_HOUR
	limited := func(n uint32, unit typev3.RateLimitUnit, d *commonv3.RateLimitDescriptor) *ratelimitv3.RateLimitRequest {
		d.Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: n, Unit: unit}
		return asked(d)
	}
	search := one("route", "search")
	for _, c := range []struct {
		what         string
		request      *ratelimitv3.RateLimitRequest
		theirs, ours string
	}{
		{
			"first", asked(user("a")),
			"OK: OK 3/HOUR 2 left reset",
			"OK: OK 3/HOUR 2 left reset",
		},
		{
			"3 hits of 2 left", hits(3, asked(user("a"))),
			"OVER_LIMIT: OVER_LIMIT 3/HOUR 0 left reset",
			"OVER_LIMIT: OVER_LIMIT 3/HOUR 2 left reset +retry-after error=limit",
		},
		{
			"1 hit afterwards", asked(user("a")),
			"OVER_LIMIT: OVER_LIMIT 3/HOUR 0 left reset",
			"OK: OK 3/HOUR 1 left reset",
		},
		{
			"not configured", asked(one("path", "/")),
			"OK: OK",
			"OK: OK",
		},
		{
			"a value that is not configured", asked(one("route", "other")),
			"OK: OK",
			"OK: OK",
		},
		{
			"not configured, and configured", asked(one("path", "/"), user("b")),
			"OK: OK OK 3/HOUR 2 left reset",
			"OK: OK OK 3/HOUR 2 left reset",
		},
		{
			"twice in a request", asked(user("c"), user("c")),
			"OK: OK 3/HOUR 2 left reset OK 3/HOUR 1 left reset",
			"OK: OK 3/HOUR 2 left reset OK 3/HOUR 2 left reset",
		},
		{
			"once more", asked(user("c")),
			"OK: OK 3/HOUR 0 left reset",
			"OK: OK 3/HOUR 1 left reset",
		},
		{
			"two values", asked(user("d"), user("e")),
			"OK: OK 3/HOUR 2 left reset OK 3/HOUR 2 left reset",
			"OVER_LIMIT: OVER_LIMIT OVER_LIMIT error=bad_request",
		},
		{
			"an empty value", asked(user("")),
			"OK: OK 3/HOUR 2 left reset",
			"OVER_LIMIT: OVER_LIMIT error=bad_request",
		},
		{
			"hits of the request", hits(2, asked(user("f"))),
			"OK: OK 3/HOUR 1 left reset",
			"OK: OK 3/HOUR 1 left reset",
		},
		{
			"0 hits of a descriptor", asked(hitsOf(0, user("g"))),
			"OK: OK 3/HOUR 3 left reset",
			"OK: OK 3/HOUR 2 left reset",
		},
		{
			"2 hits of a descriptor", asked(hitsOf(2, user("h"))),
			"OK: OK 3/HOUR 1 left reset",
			"OK: OK 3/HOUR 1 left reset",
		},
		{
			"2 hits of a descriptor, 1 of the other", asked(hitsOf(2, user("i")), search),
			"OK: OK 3/HOUR 1 left reset OK 2/HOUR 1 left reset",
			"OK: OK 3/HOUR 1 left reset OK",
		},
		{
			"2 hits of the request, 1 of the descriptor", hits(2, asked(hitsOf(1, user("j")))),
			"OK: OK 3/HOUR 2 left reset",
			"OK: OK 3/HOUR 2 left reset",
		},
		{
			"2^32-1 hits", hits(math.MaxUint32, asked(user("k"))),
			"OVER_LIMIT: OVER_LIMIT 3/HOUR 0 left reset",
			"OVER_LIMIT: OVER_LIMIT error=bad_request",
		},
		{
			"2^64-1 hits of a descriptor", asked(hitsOf(math.MaxUint64, user("l"))),
			"error Unknown",
			"OVER_LIMIT: OVER_LIMIT error=bad_request",
		},
		{
			"negative hits", asked(negative),
			"OK: OK 3/HOUR 2 left reset",
			"error Unimplemented",
		},
		{
			"a limit in the descriptor", limited(50, minute, user("dynamic")),
			"OK: OK 50/MINUTE 49 left reset",
			"OK: OK 3/HOUR 2 left reset",
		},
		{
			"a limit in a descriptor that is not configured", limited(5, hour, one("path", "/")),
			"OK: OK 5/HOUR 4 left reset",
			"OK: OK",
		},
		{
			"the route", asked(search),
			"OK: OK 2/HOUR 0 left reset",
			"OVER_LIMIT: OVER_LIMIT +retry-after error=global",
		},
		{
			"one of two over the limit", asked(user("m"), search),
			"OVER_LIMIT: OK 3/HOUR 2 left reset OVER_LIMIT 2/HOUR 0 left reset",
			"OVER_LIMIT: OK OVER_LIMIT +retry-after error=global",
		},
		{
			"after that", asked(user("m")),
			"OK: OK 3/HOUR 1 left reset",
			"OK: OK 3/HOUR 2 left reset",
		},
		{
			"no domain", &ratelimitv3.RateLimitRequest{Descriptors: []*commonv3.RateLimitDescriptor{user("n")}},
			"error Unknown",
			"error InvalidArgument",
		},
		{
			"no descriptors", asked(),
			"error Unknown",
			"error InvalidArgument",
		},
		{
			"no entries", asked(&commonv3.RateLimitDescriptor{}),
			"OK: OK",
			"OK: OK",
		},
		{
			"a limit of unit UNKNOWN, which ends their process", limited(5, typev3.RateLimitUnit_UNKNOWN, one("plan", "s")),
			"error Unavailable",
			"OK: OK 3/HOUR 2 left reset",
		},
	} {
		for _, side := range []struct {
			name, want string
			target     *target
		}{{"theirs", c.theirs, theirs}, {"ours", c.ours, ours}} {
			if got := shown(side.target.clients[0].ShouldRateLimit(t.Context(), c.request)); got != side.want {
				t.Errorf("%s: %s answers %q, want %q", c.what, side.name, got, side.want)
			}
		}
	}
}
