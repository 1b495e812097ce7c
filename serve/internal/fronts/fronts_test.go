// Package fronts_test asks every front the same.
package fronts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/serve/internal/api"
)

// A call is a request of a client, in no protocol. Its method and path is /chat.Chat/Say.
type call struct {
	ip        string   // "" is a peer without an address
	headers   []string // pairs of name and value, or of metadata
	challenge string
	weight    int64
	tokens    int64 // the estimate
	handler   handler
}

// A handler serves a call: errUnauthorized is 401 or Unauthenticated, any other error is of a client that has gone.
type handler func(ctx context.Context, c *guard.Charge) error

var errUnauthorized = errors.New("unauthorized")

// An answer is what a client is told, in the words of a problem body.
type answer struct {
	Error    string // "" passes
	Retry    time.Duration
	Violated []string          // limits and budgets, where the protocol has them
	Message  string            // of HTTP
	Fields   map[string]string // headers or metadata
}

// A style is how the fields of rate limits are written and whether a call waits for its turn, where it can be chosen.
type style struct {
	headers httpguard.Headers
	x       bool
	wait    bool
}

// A front decides calls in one protocol. Those that only decide have no handler, and some have no challenge.
type front struct {
	name  string
	knows string // "handler", "challenge", "headers", "peer", "weight", "estimate"
	open  func(t *testing.T, g *guard.Guard, rdb *redis.Client, s style) func(context.Context, call) answer
}

var fronts = []front{
	{"http", "handler challenge headers peer weight estimate", overHTTP},
	{"forward-auth", "challenge headers", overForwardAuth},
	{"grpc", "handler challenge headers peer weight estimate", func(t *testing.T, g *guard.Guard, _ *redis.Client, s style) func(context.Context, call) answer {
		return overGRPC(t, g, s, false)
	}},
	{"grpc stream", "handler challenge headers peer weight estimate", func(t *testing.T, g *guard.Guard, _ *redis.Client, s style) func(context.Context, call) answer {
		return overGRPC(t, g, s, true)
	}},
	{"envoy", "weight", overEnvoy},
	{"api", "challenge weight estimate", overAPI},
}

// can reports whether a front knows all that is needed.
func (f front) can(needs string) bool {
	return !slices.ContainsFunc(strings.Fields(needs), func(need string) bool { return !strings.Contains(f.knows, need) })
}

const path = "/chat.Chat/Say"

// words are the rows of docs/protect-a-service.md: what each protocol calls an error.
var words = func() map[string]struct{ status, code, reason string } {
	page, err := os.ReadFile("../../../docs/protect-a-service.md")
	if err != nil {
		panic(err)
	}
	all := map[string]struct{ status, code, reason string }{}
	quoted := regexp.MustCompile("`[^`]+`")
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || !regexp.MustCompile(`^ [45]\d\d $`).MatchString(cells[1]) {
			continue
		}
		reasons := quoted.FindAllString(cells[5], -1)
		for i, word := range quoted.FindAllString(cells[2], -1) {
			row := struct{ status, code, reason string }{strings.TrimSpace(cells[1]), strings.Trim(cells[4], " `"), ""}
			if i < len(reasons) {
				row.reason = strings.Trim(reasons[i], "`")
			}
			all[strings.Trim(word, "`")] = row
		}
	}
	return all
}()

func pairs(h map[string][]string) map[string]string {
	fields := map[string]string{}
	for name, values := range h {
		if name = strings.ToLower(name); strings.Contains(name, "ratelimit") || name == "retry-after" || name == "budget-warning" {
			fields[name] = strings.Join(values, "|")
		}
	}
	return fields
}

// problem reads a problem body, each of whose waits must be that of the field.
func problem(t *testing.T, w *httptest.ResponseRecorder) (a answer) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Instance string
		Status                        int
		Error, Message                string
		Seconds                       int64    `json:"retry_after_seconds"`
		Violated                      []string `json:"violated-policies"`
		Context                       struct{ RetryAfter int64 }
	}
	decoder := json.NewDecoder(w.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		t.Fatal(err)
	}
	row := words[p.Error]
	field, _ := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64)
	if strconv.Itoa(w.Code) != row.status || p.Status != w.Code || p.Title != http.StatusText(w.Code) || p.Detail != p.Message || p.Seconds != field || p.Context.RetryAfter != field ||
		w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s has row %v, and is %d %v %+v", p.Error, row, w.Code, w.Header(), p)
	}
	return answer{Error: p.Error, Retry: time.Duration(p.Seconds) * time.Second, Violated: p.Violated, Message: p.Message}
}

func overHTTP(t *testing.T, g *guard.Guard, _ *redis.Client, s style) func(context.Context, call) answer {
	number := func(r *http.Request, name string) int64 {
		n, _ := strconv.ParseInt(r.Header.Get(name), 10, 64)
		return n
	}
	m, err := httpguard.New(g, httpguard.Options{
		Headers: s.headers, XHeaders: s.x, Wait: s.wait, Weight: func(r *http.Request) int64 { return number(r, "X-Weight") },
		Estimate: func(r *http.Request) guard.Amounts { return tokens(number(r, "X-Tokens")) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, c call) answer {
		return asked(ctx, t, c, path, m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.handler == nil {
				return
			}
			switch c.handler(r.Context(), httpguard.FromContext(r.Context()).Charge) {
			case nil:
				w.WriteHeader(http.StatusNoContent)
			case errUnauthorized:
				w.WriteHeader(http.StatusUnauthorized)
			}
		})))
	}
}

func tokens(n int64) (a guard.Amounts) {
	if n > 0 {
		a.Units = []guard.Amount{{Unit: "tokens", N: n}}
	}
	return a
}

func asked(ctx context.Context, t *testing.T, c call, target string, h http.Handler, more ...string) answer {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, target, nil)
	r.RemoteAddr = "@"
	if c.ip != "" {
		r.RemoteAddr = net.JoinHostPort(c.ip, "4711")
	}
	for i := 0; i+1 < len(more); i += 2 {
		r.Header.Add(more[i], more[i+1])
	}
	for i := 0; i+1 < len(c.headers); i += 2 {
		r.Header.Add(c.headers[i], c.headers[i+1])
	}
	r.Header.Set("X-Weight", strconv.FormatInt(c.weight, 10))
	r.Header.Set("X-Tokens", strconv.FormatInt(c.tokens, 10))
	if c.challenge != "" {
		r.Header.Set("X-Challenge", c.challenge)
	}
	w := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }() // as net/http does
		h.ServeHTTP(w, r)
	}()
	a := answer{}
	if w.Code >= 400 && w.Body.Len() > 0 {
		a = problem(t, w)
	}
	a.Fields = pairs(w.Header())
	return a
}

func overForwardAuth(t *testing.T, g *guard.Guard, _ *redis.Client, s style) func(context.Context, call) answer {
	m, err := httpguard.New(g, httpguard.Options{Headers: s.headers, XHeaders: s.x})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, c call) answer {
		client := c.ip
		c.ip = "10.0.0.1"
		return asked(ctx, t, c, "/forward-auth", m.ForwardAuth(),
			"X-Forwarded-For", client, "X-Forwarded-Method", "POST", "X-Forwarded-Uri", path, "X-Forwarded-Host", "api.example")
	}
}

// told takes the metadata of a call.
type told struct {
	grpc.ServerStream
	ctx             context.Context
	header, trailer metadata.MD
}

func (s *told) Method() string                  { return path }
func (s *told) SetHeader(md metadata.MD) error  { s.header = metadata.Join(s.header, md); return nil }
func (s *told) SendHeader(md metadata.MD) error { return s.SetHeader(md) }
func (s *told) SetTrailer(md metadata.MD)       { s.trailer = metadata.Join(s.trailer, md) }
func (s *told) SendMsg(any) error               { return nil }
func (s *told) Context() context.Context        { return s.ctx }

// calls has what grpc needs to set the metadata of a unary call.
type calls struct{ *told }

func (s calls) SetTrailer(md metadata.MD) error { s.told.SetTrailer(md); return nil }

func overGRPC(t *testing.T, g *guard.Guard, style style, stream bool) func(context.Context, call) answer {
	called := func(ctx context.Context, message any) call { // a stream begins without a message
		c, unary := message.(call)
		if !unary {
			md, _ := metadata.FromIncomingContext(ctx)
			c.weight, _ = strconv.ParseInt(md["x-weight"][0], 10, 64)
			c.tokens, _ = strconv.ParseInt(md["x-tokens"][0], 10, 64)
		}
		return c
	}
	i, err := grpcguard.New(g, grpcguard.Options{
		Headers: style.headers, XHeaders: style.x, Wait: style.wait,
		Weight: func(ctx context.Context, _ string, message any) int64 { return called(ctx, message).weight },
		Estimate: func(ctx context.Context, _ string, message any) guard.Amounts {
			return tokens(called(ctx, message).tokens)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, c call) answer {
		md := metadata.Pairs(c.headers...)
		if stream {
			md.Set("x-weight", strconv.FormatInt(c.weight, 10))
			md.Set("x-tokens", strconv.FormatInt(c.tokens, 10))
		}
		if c.challenge != "" {
			md.Set("x-challenge", c.challenge)
		}
		var addr net.Addr = &net.UnixAddr{Name: "@", Net: "unix"}
		if c.ip != "" {
			addr = &net.TCPAddr{IP: net.ParseIP(c.ip), Port: 4711}
		}
		s := &told{}
		s.ctx = grpc.NewContextWithServerTransportStream(metadata.NewIncomingContext(peer.NewContext(ctx, &peer.Peer{Addr: addr}), md), calls{s})
		handler := func(ctx context.Context) error {
			if c.handler == nil {
				return nil
			}
			err := c.handler(ctx, grpcguard.FromContext(ctx).Charge)
			if err == errUnauthorized {
				return status.Error(codes.Unauthenticated, "no")
			}
			return err
		}
		var failed error
		func() {
			defer func() { _ = recover() }()
			if stream {
				failed = i.Stream(nil, s, &grpc.StreamServerInfo{FullMethod: path, IsServerStream: true}, func(_ any, s grpc.ServerStream) error {
					if err := handler(s.Context()); err != nil {
						return err
					}
					return s.SendMsg(nil)
				})
			} else {
				_, failed = i.Unary(s.ctx, c, &grpc.UnaryServerInfo{FullMethod: path}, func(ctx context.Context, _ any) (any, error) { return nil, handler(ctx) })
			}
		}()
		a := answer{Fields: pairs(metadata.Join(s.header, s.trailer))}
		for _, detail := range status.Convert(failed).Details() {
			switch d := detail.(type) {
			case *errdetails.ErrorInfo:
				for word, row := range words {
					if row.reason == d.Reason && row.code == status.Code(failed).String() {
						a.Error = word
					}
				}
				if a.Error == "" {
					t.Errorf("no row of docs/protect-a-service.md has %v", failed)
				}
			case *errdetails.RetryInfo:
				a.Retry = d.RetryDelay.AsDuration()
				if got := s.trailer["grpc-retry-pushback-ms"]; len(got) != 1 || got[0] != strconv.FormatInt((a.Retry+time.Millisecond-1).Milliseconds(), 10) {
					t.Errorf("RetryInfo of %v, pushback of %v", a.Retry, got)
				}
			case *errdetails.QuotaFailure:
				for _, v := range d.Violations {
					if !violation.MatchString(v.Description) {
						t.Errorf("%s: %s", v.Subject, v.Description)
					}
					a.Violated = append(a.Violated, strings.TrimPrefix(v.Subject, "chat/"))
				}
			}
		}
		return a
	}
}

// violation is what gRPC says of a limit or a budget.
var violation = regexp.MustCompile(`^(1|10|30) in 1?0?m?\d+s; admits again in |^1 at the same time$|^a budget of \S+ in 24h0m0s`)

// word is the error of a problem body for a reason.
func word(reason string) string {
	switch reason {
	case "limit", "global":
		return "rate_limited"
	case "budget", "penalty", "too_large":
		return "cost_exceeded"
	case "attempts":
		return "too_many_attempts"
	}
	return reason
}

func overEnvoy(t *testing.T, g *guard.Guard, _ *redis.Client, _ style) func(context.Context, call) answer {
	s, err := envoyguard.New(g, envoyguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, c call) answer {
		r := &ratelimitv3.RateLimitRequest{Domain: "edge", HitsAddend: uint32(min(c.weight, math.MaxUint32)), Descriptors: []*commonv3.RateLimitDescriptor{{
			Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "remote_address", Value: c.ip}},
		}}}
		got, err := s.ShouldRateLimit(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		a := answer{Error: word(got.GetDynamicMetadata().GetFields()["error"].GetStringValue()), Fields: map[string]string{}}
		for _, h := range got.ResponseHeadersToAdd {
			a.Fields[h.Key] = h.Value
		}
		seconds, _ := strconv.Atoi(a.Fields["retry-after"])
		a.Retry = time.Duration(seconds) * time.Second
		if refused := got.OverallCode != ratelimitv3.RateLimitResponse_OK; refused != (a.Error != "") {
			t.Errorf("%v with %+v", got.OverallCode, a)
		}
		return a
	}
}

func overAPI(t *testing.T, g *guard.Guard, rdb *redis.Client, _ style) func(context.Context, call) answer {
	h, err := api.New(g, rdb, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, c call) answer {
		request := map[string]any{"endpoint": "chat", "subjects": []string{"ip=" + c.ip}}
		if c.challenge != "" {
			request["challenge"] = c.challenge
		}
		if c.weight > 0 {
			request["weight"] = c.weight
		}
		if c.tokens > 0 {
			request["units"] = []any{map[string]any{"unit": "tokens", "n": c.tokens}}
		}
		body, _ := json.Marshal(request)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/decide", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var got struct {
			Reason, Challenge, Error string
			RetryAfter               float64 `json:"retry_after"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Error != "" { // no decision
			seconds, _ := strconv.Atoi(w.Header().Get("Retry-After"))
			return answer{Error: got.Error, Retry: time.Duration(seconds) * time.Second}
		}
		a := answer{Error: word(got.Reason), Retry: time.Duration(got.RetryAfter * float64(time.Second))}
		if got.Reason == "challenge" {
			a.Error = map[string]string{"absent": "challenge_required"}[got.Challenge]
			if a.Error == "" {
				a.Error = "challenge_invalid"
			}
		}
		return a
	}
}

const shared = `
version: 1
timeout: 20s
identities: {ip: {trusted_proxies: [10.0.0.1]}, key: {header: X-Key, claimed: true}}
`

// mapped has Envoy's descriptors, which a policy with places cannot have.
const mapped = `
descriptors: [{domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: chat}]
`

const (
	minute  = `endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: minute, by: ip, limit: 1, window: 1m}]}]`
	hour    = `endpoints: [{name: chat, match: ["/chat.Chat/*"]}]` + "\n" + `limits: [{name: hour, by: ip, limit: 9, window: 1h}`
	money   = `endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, cost: {estimate: "%s", hold: 24h, penalty: 48h}}]` + "\n" + `budgets: [{name: day, by: ip, budget: "1.00", window: 24h}]`
	warning = `
budgets: [{name: day, by: ip, budget: 1, window: 24h, warn: 0.5}, {name: month, by: ip, budget: 2, window: 720h, warn: 0.4}, {name: house, by: all, budget: 1000, window: 24h, warn: 0.000001}]
endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, cost: {estimate: 0.3}}]`
	guessing  = `endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, block: many}]` + "\n" + `blocks: [{name: many, by: ip, attempts: all, tiers: [{threshold: 2, window: 1m, block: 5m}]}]`
	units     = `endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, cost: {units: {tokens: 100}}}]` + "\n" + `budgets: [{name: day, by: ip, unit: tokens, budget: 100, window: 24h}]`
	places    = `endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: places, by: ip, kind: concurrency, limit: 1}]}]`
	challenge = `endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, challenge: {required: true}}]`
)

func panics(context.Context, *guard.Charge) error { panic(http.ErrAbortHandler) }

func settles(to fcall.Micros) handler {
	return func(ctx context.Context, c *guard.Charge) error { return c.Settle(ctx, to) }
}

func answers(err error) handler { return func(context.Context, *guard.Charge) error { return err } }

// guarding returns a guard on a server in this process whose clock stands still.
func (f front) guarding(t *testing.T, yaml string) (*guard.Guard, *redis.Client) {
	t.Helper()
	g, rdb, _ := f.guardingWith(t, yaml, guard.Options{CacheSize: -1})
	return g, rdb
}

// parse reads a policy for a front.
func (f front) parse(t *testing.T, yaml string) *policy.Policy {
	t.Helper()
	if f.name == "envoy" {
		yaml += mapped
	}
	p, err := policy.Parse("policy.yaml", []byte(shared+yaml))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (f front) guardingWith(t *testing.T, yaml string, o guard.Options) (*guard.Guard, *redis.Client, *embedded.ManualClock) {
	t.Helper()
	clock := embedded.NewManualClock(engines.Start)
	server := embedded.New(embedded.Options{Clock: clock})
	rdb := server.Client()
	g, err := guard.New(rdb, f.parse(t, yaml), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = g.Close(), rdb.Close(), server.Close() })
	return g, rdb, clock
}

func closes(t *testing.T, rdb *redis.Client) {
	if err := rdb.Close(); err != nil {
		t.Error(err)
	}
}

// The same policy and the same requests, whatever is in front: every front decides as every other, and says it in the words of its protocol.
func TestFronts_decideAlike(t *testing.T) {
	ada := call{ip: "203.0.113.7"}
	with := func(c call, change func(*call)) call { change(&c); return c }
	once := func(id string) call { return with(ada, func(c *call) { c.headers = []string{"idempotency-key", id} }) }
	ending := func(h handler) call {
		return with(ada, func(c *call) { c.handler = h })
	}
	estimating := func(n int64) call { return with(ada, func(c *call) { c.tokens = n }) }
	unreserved := ending(func(ctx context.Context, c *guard.Charge) error {
		if err := c.Settle(ctx, 1); err == nil {
			t.Error("settled a call that reserved nothing")
		}
		return nil
	})
	type fields = map[string]string
	limited := answer{Error: "rate_limited", Retry: time.Minute, Violated: []string{"minute"}, Message: "Too many requests. Try again in 60 seconds."}
	passed := answer{}
	for name, c := range map[string]struct {
		policy string
		needs  string // of the fronts that it is for
		style  style
		before []call
		damage func(t *testing.T, rdb *redis.Client)
		last   call
		twice  bool // once more while the handler of the last one runs
		want   answer
		fields fields // checked unless nil
	}{
		"a limit": {
			policy: minute, before: []call{ada}, last: ada, want: limited,
			fields: fields{"ratelimit": `"minute";r=0;t=60`, "ratelimit-policy": `"minute";q=1;w=60`, "retry-after": "60"},
		},
		"another client": {
			policy: minute, before: []call{ada}, last: call{ip: "203.0.113.8"}, want: passed,
			fields: fields{"ratelimit": `"minute";r=0;t=60`, "ratelimit-policy": `"minute";q=1;w=60`},
		},
		"several limits": {
			policy: `
limits: [{name: hour, by: ip, limit: 9, window: 1h}, {name: all, by: all, kind: gcra, limit: 1000, window: 1s}]
endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: rate, by: ip, kind: gcra, limit: 10, window: 1s, burst: 50}, {name: dark, by: ip, limit: 1, window: 1m, shadow: true}]}]`,
			before: []call{ada}, last: ada, want: passed, fields: fields{"ratelimit": `"hour";r=7;t=3600, "rate";r=48;t=1`, "ratelimit-policy": `"hour";q=9;w=3600, "rate";q=50;w=1`},
		},
		"a limit in draft 6": {
			policy: minute, needs: "headers", style: style{headers: httpguard.Draft06}, before: []call{ada}, last: ada, want: limited,
			fields: fields{"ratelimit-limit": "1", "ratelimit-remaining": "0", "ratelimit-reset": "60", "retry-after": "60"},
		},
		"a limit in X fields": {
			policy: minute, needs: "headers", style: style{headers: httpguard.NoHeaders, x: true}, before: []call{ada}, last: ada, want: limited,
			fields: fields{"x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60", "retry-after": "60"},
		},
		"the tightest limit in draft 6": {policy: hour + `, {name: minute, by: ip, limit: 2, window: 1m}]`, needs: "headers", style: style{headers: httpguard.Draft06, x: true}, last: ada, want: passed, fields: fields{
			"ratelimit-limit": "2", "ratelimit-remaining": "1", "ratelimit-reset": "60", "x-ratelimit-limit": "2", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "60",
		}},
		"no fields": {policy: minute, needs: "headers", style: style{headers: httpguard.NoHeaders}, last: ada, want: passed, fields: fields{}},
		"a global limit in X fields": {
			policy: hour + `, {name: all, by: all, limit: 1, window: 1m}]`, needs: "headers", style: style{headers: httpguard.Draft06, x: true}, before: []call{ada}, last: ada,
			want: answer{Error: "rate_limited", Retry: time.Minute, Message: "Too many requests. Try again in 60 seconds."}, fields: fields{"retry-after": "60"},
		},
		"a heavy call": {
			policy: hour + `, {name: rate, by: ip, kind: gcra, limit: 10, burst: 30, window: 10s}]`, needs: "headers handler", before: []call{with(ada, func(c *call) { c.weight = 20 })}, last: with(ada, func(c *call) { c.weight = 20 }),
			want:   answer{Error: "rate_limited", Retry: 10 * time.Second, Violated: []string{"rate"}, Message: "Too many requests. Try again in 10 seconds."},
			fields: fields{"ratelimit": `"rate";r=10;t=10`, "ratelimit-policy": `"rate";q=30;w=10`, "retry-after": "10"},
		},
		"a budget that warns":         {policy: warning, needs: "headers", before: []call{ada, ada}, last: ada, want: passed, fields: fields{"budget-warning": `"day";p=90, "month";p=45`}},
		"a budget that does not warn": {policy: warning, needs: "headers", last: ada, want: passed, fields: fields{}},
		"a refusal by a budget that warns": {
			policy: warning, needs: "headers", before: []call{ada, ada, ada}, last: ada, fields: fields{"retry-after": "86400"},
			want: answer{Error: "cost_exceeded", Retry: 24 * time.Hour, Violated: []string{"day"}, Message: "The budget is exhausted. Try again in 24 hours."},
		},
		"a global limit": {
			policy: `
limits: [{name: hour, by: ip, limit: 10, window: 1h}, {name: all, by: all, limit: 1, window: 3m}]
endpoints: [{name: chat, match: ["/chat.Chat/*"]}]`,
			before: []call{ada}, last: ada, want: answer{Error: "rate_limited", Retry: 3 * time.Minute, Message: "Too many requests. Try again in 3 minutes."}, fields: fields{"retry-after": "180"},
		},
		"a budget": {
			policy: fmt.Sprintf(money, "0.60"), before: []call{ada}, last: ada,
			want: answer{Error: "cost_exceeded", Retry: 24 * time.Hour, Violated: []string{"day"}, Message: "The budget is exhausted. Try again in 24 hours."}, fields: fields{"retry-after": "86400"},
		},
		"a penalty": {
			policy: fmt.Sprintf(money, "0.60"), needs: "handler", before: []call{ending(settles(1_500_000))}, last: ada,
			want: answer{Error: "cost_exceeded", Retry: 48 * time.Hour, Violated: []string{"day"}, Message: "The budget is exhausted. Try again in 2 days."},
		},
		"attempts":                     {policy: guessing, before: []call{ada}, last: ada, want: answer{Error: "too_many_attempts", Retry: 5 * time.Minute, Message: "Too many attempts. Try again in 5 minutes."}, fields: fields{"retry-after": "300"}},
		"a block":                      {policy: guessing, before: []call{ada, ada}, last: ada, want: answer{Error: "blocked", Retry: 5 * time.Minute, Message: "This client is blocked. Try again in 5 minutes."}},
		"denied":                       {policy: "overrides: {deny: [ip=203.0.113.7]}\n" + minute, last: ada, want: answer{Error: "denied", Message: "This client is denied."}, fields: fields{}},
		"no challenge":                 {policy: challenge, needs: "challenge", last: ada, want: answer{Error: "challenge_required", Message: "The request needs a challenge."}},
		"a wrong challenge":            {policy: challenge, needs: "challenge", last: with(ada, func(c *call) { c.challenge = "abc" }), want: answer{Error: "challenge_invalid", Message: "The challenge is not valid. Request a new one."}},
		"a challenge that is too long": {policy: challenge, needs: "challenge", last: with(ada, func(c *call) { c.challenge = strings.Repeat("a", 129) }), want: answer{Error: "bad_request", Message: "The challenge of the request is out of bounds."}},
		"a weight that is too large":   {policy: strings.Replace(minute, "limit: 1", "kind: gcra, limit: 1", 1), needs: "weight", last: with(ada, func(c *call) { c.weight = 1 << 62 }), want: answer{Error: "bad_request", Message: "The cost of the request is out of bounds."}},
		"a peer without an address":    {policy: minute, needs: "peer", last: call{}, want: answer{Error: "bad_request", Message: "The client could not be identified."}, fields: fields{}},
		"no endpoint":                  {policy: "unmatched: refuse\n" + strings.Replace(minute, "Chat/*", "Chat/Other", 1), needs: "headers", last: ada, want: answer{Error: "not_found", Message: "The service has nothing at this path."}, fields: fields{}},
		"exempt":                       {policy: "exempt: [/chat.Chat/Say]\noverrides: {deny: [ip=203.0.113.7]}\n" + minute, needs: "headers", before: []call{ada}, last: unreserved, want: passed, fields: fields{}},
		"not in the policy":            {policy: strings.Replace(minute, "Chat/*", "Chat/Other", 1), needs: "headers", before: []call{ada}, last: unreserved, want: passed, fields: fields{}},
		"closed without Redis": {
			policy: "on_failure: closed\n" + minute, damage: closes, last: ada,
			want: answer{Error: "limiter_unavailable", Retry: time.Second, Message: "The rate limiter is not available. Try again in 1 second."}, fields: fields{"retry-after": "1"},
		},
		"open without Redis": {policy: "on_failure: open\n" + minute, before: []call{ada}, damage: closes, last: ada, want: passed},
		"unreadable state": {policy: minute, damage: func(t *testing.T, rdb *redis.Client) {
			if err := rdb.RPush(t.Context(), "rl:{ip=203.0.113.7}:sliding_log:60000000:chat/minute", "no time").Err(); err != nil {
				t.Error(err)
			}
		}, last: ada, want: answer{Error: "limiter_unreadable", Message: "The rate limiter returned unreadable data."}},
		"a receipt again": {policy: strings.Replace(minute, "name: chat", "name: chat, idempotency: {header: Idempotency-Key}", 1), needs: "headers", before: []call{once("a")}, last: once("a"), want: passed},
		"another receipt": {policy: strings.Replace(minute, "name: chat", "name: chat, idempotency: {header: Idempotency-Key}", 1), needs: "headers", before: []call{once("a")}, last: once("b"), want: limited},
		"two receipts": {
			policy: strings.Replace(minute, "name: chat", "name: chat, idempotency: {header: Idempotency-Key}", 1), needs: "headers", before: []call{once("a")},
			last: with(once("a"), func(c *call) { c.headers = append(c.headers, "idempotency-key", "b") }), want: limited,
		},
		"a place": {
			policy: places, needs: "handler",
			before: []call{ending(answers(nil)), ending(answers(errUnauthorized)), ending(panics)}, last: ada, want: passed,
			fields: fields{"ratelimit": `"places";r=0`, "ratelimit-policy": `"places";q=1;qu="concurrent-requests"`},
		},
		"a place that is taken": {
			policy: places, needs: "handler", style: style{x: true}, last: ada, twice: true,
			want:   answer{Error: "rate_limited", Retry: time.Second, Violated: []string{"places"}, Message: "Too many requests at the same time. Try again in 1 second."},
			fields: fields{"ratelimit": `"places";r=0`, "ratelimit-policy": `"places";q=1;qu="concurrent-requests"`, "retry-after": "1"},
		},
		"an estimate": {
			policy: units, needs: "estimate", before: []call{estimating(60)}, last: estimating(60),
			want: answer{Error: "cost_exceeded", Retry: 24 * time.Hour, Violated: []string{"day"}, Message: "The budget is exhausted. Try again in 24 hours."},
		},
		"an estimate of what is left": {policy: units, needs: "estimate", before: []call{estimating(60)}, last: estimating(40), want: passed},
		"the estimate of the policy": {policy: units, needs: "estimate", before: []call{estimating(1)}, last: ada, want: answer{
			Error: "cost_exceeded", Retry: 24 * time.Hour, Violated: []string{"day"}, Message: "The budget is exhausted. Try again in 24 hours.",
		}},
		"two clients": {
			policy: hour + `, {name: keyed, by: key, limit: 9, window: 1h}]`, needs: "headers", last: with(ada, func(c *call) { c.headers = []string{"x-key", "a", "x-key", "b"} }),
			want: answer{Error: "bad_request", Message: "The request is ambiguous: two different values."}, fields: fields{},
		},
	} {
		for _, f := range fronts {
			if !f.can(c.needs) {
				continue
			}
			t.Run(name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				g, rdb := f.guarding(t, c.policy)
				ask := f.open(t, g, rdb, c.style)
				for _, before := range c.before {
					ask(t.Context(), before)
					_ = g.Close() // waits for what the call gives back
				}
				if c.damage != nil {
					c.damage(t, rdb)
				}
				var got answer
				if c.twice {
					first := c.last
					first.handler = func(ctx context.Context, _ *guard.Charge) error { got = ask(ctx, c.last); return nil }
					ask(t.Context(), first)
				} else {
					got = ask(t.Context(), c.last)
				}
				if f.name == "envoy" || f.name == "api" {
					got.Violated = c.want.Violated // which they name in forms of their own
				}
				if c.fields != nil && f.name != "api" && !maps.Equal(got.Fields, c.fields) {
					t.Errorf("fields %v, want %v", got.Fields, c.fields)
				}
				if got.Fields = nil; !strings.Contains("http forward-auth", f.name) {
					got.Message = c.want.Message
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// What a call took is given back, kept or settled by how its handler ends, in each protocol that knows.
func TestFronts_chargeByHowTheHandlerEnds(t *testing.T) {
	const policy = `
limits: [{name: failures, by: ip, limit: 5, window: 15m, count: {status: [401], code: [Unauthenticated]}}]
budgets: [{name: day, by: ip, budget: "1.00", window: 24h}]
endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: places, by: ip, kind: concurrency, limit: 1}], cost: {estimate: "0.25"}}]`
	for name, c := range map[string]struct {
		handler handler
		spent   fcall.Micros
		left    string // of the failures, for the next call
	}{
		"passes":                            {answers(nil), 250_000, "4"},
		"fails":                             {answers(errUnauthorized), 250_000, "3"},
		"settles":                           {settles(70_000), 70_000, "4"},
		"cancels":                           {settles(0), 0, "4"},
		"panics":                            {panics, 0, "4"},
		"settles for a client that is gone": {settles(70_000), 70_000, "4"},
		"settles and panics":                {func(ctx context.Context, c *guard.Charge) error { _ = c.Settle(ctx, 70_000); panic("a bug") }, 70_000, "4"},
		"detaches and panics":               {func(_ context.Context, c *guard.Charge) error { c.Detach(); panic("a bug") }, 250_000, "4"},
		"counts a success":                  {func(ctx context.Context, c *guard.Charge) error { c.Count(ctx, true); return nil }, 250_000, "3"},
		"skips a failure":                   {func(ctx context.Context, c *guard.Charge) error { c.Count(ctx, false); return errUnauthorized }, 250_000, "4"},
		"its client is gone":                {func(ctx context.Context, _ *guard.Charge) error { return ctx.Err() }, 0, "4"},
		"answers a client that is gone":     {answers(nil), 250_000, "4"},
	} {
		for _, f := range fronts {
			if !f.can("handler") {
				continue
			}
			t.Run(name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				g, rdb := f.guarding(t, policy)
				ask := f.open(t, g, rdb, style{})
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				ask(ctx, call{ip: "203.0.113.7", handler: func(ctx context.Context, charge *guard.Charge) error {
					if !strings.Contains(name, "gone") {
						return c.handler(ctx, charge)
					}
					hangUp()
					<-ctx.Done()
					return c.handler(ctx, charge)
				}})
				_ = g.Close() // waits for what the call gives back
				costs, err := cost.New(rdb, fcall.Options{})
				if err != nil {
					t.Fatal(err)
				}
				peek, err := costs.Peek(t.Context(), cost.PeekParams{Subject: "ip=203.0.113.7", Budgets: cost.PackBudget(cost.Budget{Budget: 1_000_000, Window: 24 * time.Hour, Name: "day"})})
				if err != nil {
					t.Fatal(err)
				}
				if got := peek.Budgets[0].Spent; got != c.spent {
					t.Errorf("%v is spent, want %v", got, c.spent)
				}
				next := ask(t.Context(), call{ip: "203.0.113.7"})
				if want := `"failures";r=` + c.left + ";"; (next.Error != "") != strings.Contains(name, "detaches") || next.Error == "" && !strings.Contains(next.Fields["ratelimit"], want) {
					t.Errorf("the next call: %+v, want %s", next, want)
				}
			})
		}
	}
}

// A refusal that guard remembers tells the wait that is left of it.
func TestFronts_rememberedRefusalsAge(t *testing.T) {
	for _, f := range fronts {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			g, rdb, _ := f.guardingWith(t, minute, guard.Options{})
			ask := f.open(t, g, rdb, style{})
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
				a := ask(t.Context(), call{ip: "203.0.113.7"})
				if after, ok := a.Fields["retry-after"]; ok && a.Fields["ratelimit"] != `"minute";r=0;t=`+after || time.Now().After(deadline) {
					t.Fatalf("%+v", a)
				}
				if a.Error != "" && a.Retry <= 59*time.Second { // the clock of Redis stands still
					return
				}
			}
		})
	}
}

// With Wait, a call waits for its turn, but not if that comes after its deadline.
func TestFronts_wait(t *testing.T) {
	for _, f := range fronts {
		if !f.can("handler") {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			g, rdb := f.guarding(t, minute)
			ask := f.open(t, g, rdb, style{wait: true})
			ada := call{ip: "203.0.113.7"}
			ask(t.Context(), ada)
			early, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if a := ask(early, ada); a.Error != "rate_limited" || a.Retry != time.Minute || early.Err() != nil {
				t.Errorf("passes in a minute, deadline in 20 s: %+v", a)
			}
			g, rdb, clock := f.guardingWith(t, strings.Replace(minute, "1m", "20ms", 1), guard.Options{CacheSize: -1})
			ask = f.open(t, g, rdb, style{wait: true})
			ask(t.Context(), ada)
			waited := make(chan answer)
			go func() { waited <- ask(t.Context(), ada) }()
			select {
			case a := <-waited:
				t.Fatalf("did not wait: %+v", a)
			case <-time.After(50 * time.Millisecond): // waiting has nothing to poll for
			}
			clock.Advance(20 * time.Millisecond)
			if a := <-waited; a.Error != "" {
				t.Errorf("after its turn: %+v", a)
			}
		})
	}
}

// A new policy decides the next call. One that a front cannot serve is rejected, and changes nothing.
func TestFronts_followThePolicy(t *testing.T) {
	for _, f := range fronts {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			const open = `endpoints: [{name: chat, match: ["/other"], unbounded: true}]`
			g, rdb := f.guarding(t, open)
			ask := f.open(t, g, rdb, style{})
			pass := func(what string, want ...bool) {
				t.Helper()
				for i, want := range want {
					if a := ask(t.Context(), call{ip: "203.0.113.7"}); (a.Error == "") != want {
						t.Errorf("%s, call %d: %+v", what, i+1, a)
					}
				}
			}
			pass("without a limit", true, true)
			if err := g.SetPolicy(f.parse(t, minute)); err != nil {
				t.Fatal(err)
			}
			pass("with a limit", true, false)
			lacking := f.parse(t, open)
			lacking.Identities["own"] = policy.Identity{Func: true}
			if err := g.SetPolicy(lacking); f.name != "api" && (err == nil || !strings.Contains(err.Error(), `set Funcs["own"]`)) {
				t.Errorf("a policy with missing code: %v", err)
			} else if err != nil {
				pass("after a rejected policy", false)
			}
			if err := g.SetPolicy(f.parse(t, open)); err != nil {
				t.Fatal(err)
			}
			pass("without a limit again", true, true)
		})
	}
}
