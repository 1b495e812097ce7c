package envoyguard_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

const limits = `
timeout: 10s
identities:
  key: {header: X-API-Key, claimed: true}
endpoints:
  - name: login
    limits: [{name: minute, by: ip, limit: 10, window: 1m}, {name: keys, by: [ip, key], limit: 5, window: 15m}]
  - {name: search, limits: [{name: hour, by: ip, kind: fixed_window, limit: 3, window: 1h}]}
  - {name: total, limits: [{name: day, by: all, limit: 2, window: 24h}]}
descriptors:
  - {domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: login}
  - {domain: edge, entries: [{key: remote_address, identity: ip}, {key: key, identity: key}], endpoint: login}
  - {domain: edge, entries: [{key: route, value: search}, {key: remote_address, identity: ip}], endpoint: search}
  - {domain: edge, entries: [{key: generic_key, value: total}], endpoint: total}
`

type fixture struct {
	client ratelimitv3.RateLimitServiceClient
	conn   *grpc.ClientConn
	guard  *guard.Guard
	redis  *redis.Client
	clock  *embedded.ManualClock
}

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("limits.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serve(t *testing.T, text string) *fixture {
	t.Helper()
	return serveWith(t, text, guard.Options{CacheSize: -1})
}

func serveWith(t *testing.T, text string, o guard.Options) *fixture {
	t.Helper()
	f := &fixture{clock: embedded.NewManualClock(engines.Start)}
	f.redis = embedded.New(embedded.Options{Clock: f.clock}).Client()
	var err error
	if f.guard, err = guard.New(f.redis, parse(t, text), o); err != nil {
		t.Fatal(err)
	}
	s, err := envoyguard.New(f.guard, envoyguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(envoyguard.ServerOption())
	ratelimitv3.RegisterRateLimitServiceServer(server, s)
	pipe := bufconn.Listen(1 << 20)
	go server.Serve(pipe)
	f.conn, err = grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	f.client = ratelimitv3.NewRateLimitServiceClient(f.conn)
	t.Cleanup(func() {
		_ = f.conn.Close()
		server.Stop()
		_ = f.guard.Close()
	})
	return f
}

// descriptor makes a descriptor of keys and values.
func descriptor(pairs ...string) *commonv3.RateLimitDescriptor {
	d := &commonv3.RateLimitDescriptor{}
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

func from(address string) *commonv3.RateLimitDescriptor { return descriptor("remote_address", address) }

func search(address string) *commonv3.RateLimitDescriptor {
	return descriptor("route", "search", "remote_address", address)
}

// An answer is what a test compares of a response.
type answer struct {
	Code     string
	Statuses []string // code, limit, remaining and reset
	Error    string
	Headers  map[string]string
}

func (f *fixture) ask(t *testing.T, r *ratelimitv3.RateLimitRequest) answer {
	t.Helper()
	got, err := f.client.ShouldRateLimit(t.Context(), r)
	if err != nil {
		return answer{Code: status.Code(err).String()}
	}
	return read(got)
}

func read(r *ratelimitv3.RateLimitResponse) answer {
	a := answer{Code: r.OverallCode.String(), Error: r.GetDynamicMetadata().GetFields()["error"].GetStringValue()}
	for _, s := range r.Statuses {
		text := s.Code.String()
		if l := s.CurrentLimit; l != nil {
			text = fmt.Sprintf("%s %s %v %d %d %v", text, l.Name, l.Unit, l.RequestsPerUnit, s.LimitRemaining, s.DurationUntilReset.AsDuration())
		}
		a.Statuses = append(a.Statuses, text)
	}
	for _, h := range r.ResponseHeadersToAdd {
		if a.Headers == nil {
			a.Headers = map[string]string{}
		}
		a.Headers[h.Key] = h.Value
	}
	return a
}

func edge(descriptors ...*commonv3.RateLimitDescriptor) *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{Domain: "edge", Descriptors: descriptors}
}

func (f *fixture) expect(t *testing.T, r *ratelimitv3.RateLimitRequest, want answer) {
	t.Helper()
	if diff := cmp.Diff(want, f.ask(t, r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShouldRateLimit_exactlyTheLimitPasses(t *testing.T) {
	f := serve(t, limits)
	var allowed atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			r, err := f.client.ShouldRateLimit(t.Context(), edge(from("203.0.113.7")))
			if err != nil {
				t.Error(err)
			} else if r.OverallCode == ratelimitv3.RateLimitResponse_OK {
				allowed.Add(1)
			}
		})
	}
	all.Wait()
	if allowed.Load() != 10 {
		t.Errorf("%d of 50 passed, want 10", allowed.Load())
	}
	f.expect(t, edge(from("203.0.113.8")), answer{
		Code: "OK", Statuses: []string{"OK login/minute MINUTE 10 9 1m0s"},
		Headers: map[string]string{"ratelimit": `"minute";r=9;t=60`, "ratelimit-policy": `"minute";q=10;w=60`},
	})
	f.expect(t, edge(from("203.0.113.7")), answer{
		Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT login/minute MINUTE 10 0 1m0s"}, Error: "limit",
		Headers: map[string]string{"ratelimit": `"minute";r=0;t=60`, "ratelimit-policy": `"minute";q=10;w=60`, "retry-after": "60"},
	})
}

func TestShouldRateLimit_whatThePolicyDoesNotMap(t *testing.T) {
	f := serve(t, limits)
	for name, r := range map[string]*ratelimitv3.RateLimitRequest{
		"a domain":         {Domain: "other", Descriptors: []*commonv3.RateLimitDescriptor{from("203.0.113.7")}},
		"a key":            edge(descriptor("path", "/")),
		"a value":          edge(descriptor("generic_key", "other")),
		"an entry more":    edge(descriptor("generic_key", "total", "a", "b")),
		"no entries":       edge(descriptor()),
		"a NUL in the key": edge(descriptor("remote_address\x00key", "a")),
	} {
		if diff := cmp.Diff(answer{Code: "OK", Statuses: []string{"OK"}}, f.ask(t, r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	f.expect(t, &ratelimitv3.RateLimitRequest{Domain: "edge"}, answer{Code: codes.InvalidArgument.String()})
	f.expect(t, &ratelimitv3.RateLimitRequest{Descriptors: []*commonv3.RateLimitDescriptor{from("203.0.113.7")}}, answer{Code: codes.InvalidArgument.String()})
	refusing := serve(t, "unmatched: refuse\n"+limits)
	refusing.expect(t, edge(descriptor("path", "/")), answer{Code: "OVER_LIMIT", Statuses: []string{"OK"}, Error: "not_found"})
}

// The policy decides, whatever limit Envoy sends with a descriptor.
func TestShouldRateLimit_ignoresLimitsOfDescriptors(t *testing.T) {
	f := serve(t, limits)
	for i, n := range []uint32{0, 1, 1000, 1000} {
		d := search("203.0.113.7")
		d.Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: n, Unit: typev3.RateLimitUnit_HOUR}
		if a := f.ask(t, edge(d)); (a.Code == "OK") != (i < 3) {
			t.Errorf("request %d of 3: %+v", i+1, a)
		}
	}
}

func TestShouldRateLimit_badInputIsNotAFreePass(t *testing.T) {
	f := serve(t, limits)
	refused := answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT"}, Error: "bad_request"}
	f.expect(t, edge(from("not an address")), refused)
	f.expect(t, edge(from("")), refused)
	f.expect(t, edge(from(strings.Repeat("a", 1<<20))), refused)
	f.expect(t, edge(descriptor("remote_address", "203.0.113.7", "key", "")), refused)
	f.expect(t, edge(from("203.0.113.7"), from("203.0.113.8")), answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT", "OVER_LIMIT"}, Error: "bad_request"})
	for _, both := range []*ratelimitv3.RateLimitRequest{edge(from(""), from("203.0.113.7")), edge(from("203.0.113.7"), from(""))} {
		f.expect(t, both, answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT", "OVER_LIMIT"}, Error: "bad_request"})
	}
	// A long value counts as one client.
	long := edge(descriptor("remote_address", "203.0.113.7", "key", strings.Repeat("k", 1<<20)))
	for i := range 6 {
		if a := f.ask(t, long); (a.Code == "OK") != (i < 5) {
			t.Errorf("call %d with a value of 1 MiB: %+v", i+1, a)
		}
	}
	// IPv6 clients count by their prefix.
	for i := range 11 {
		if a := f.ask(t, edge(from("2001:db8::"+string("123456789ab"[i])))); (a.Code == "OK") != (i < 10) {
			t.Errorf("address %d of a prefix: %+v", i+1, a)
		}
	}
}

// raw sends bytes as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}
func (raw) Name() string { return "proto" }

func TestShouldRateLimit_refusesInvalidUTF8(t *testing.T) {
	f := serve(t, limits)
	entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "remote_address")
	entry = protowire.AppendString(protowire.AppendTag(entry, 2, protowire.BytesType), "\xff")
	one := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), entry)
	request := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "edge")
	request = protowire.AppendBytes(protowire.AppendTag(request, 2, protowire.BytesType), one)
	for _, bytes := range [][]byte{request, {0xff}} {
		var reply []byte
		if err := f.conn.Invoke(t.Context(), ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName, &bytes, &reply, grpc.ForceCodec(raw{})); err != nil {
			t.Fatal(err)
		}
		got := new(ratelimitv3.RateLimitResponse)
		if err := proto.Unmarshal(reply, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(answer{Code: "OVER_LIMIT", Error: "bad_request"}, read(got)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", bytes, diff)
		}
	}
}

var _ encoding.Codec = raw{}

func TestShouldRateLimit_valuesWinOverIdentities(t *testing.T) {
	f := serve(t, `
timeout: 10s
endpoints:
  - {name: any, limits: [{name: minute, by: ip, limit: 1, window: 1m}]}
  - {name: office, limits: [{name: minute, by: all, limit: 3, window: 1m}]}
descriptors:
  - {domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: any}
  - {domain: edge, entries: [{key: remote_address, value: 203.0.113.1}], endpoint: office}
`)
	for i := range 4 {
		if a := f.ask(t, edge(from("203.0.113.1"))); (a.Code == "OK") != (i < 3) {
			t.Errorf("call %d: %+v", i+1, a)
		}
	}
}
