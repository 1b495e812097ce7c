package grpcguard_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
)

// An answer is a status as the client reads it.
type answer struct {
	Code       codes.Code
	Reason     string
	Endpoint   string
	Retry      time.Duration
	Violations []string
}

func answerOf(err error) answer {
	s := status.Convert(err)
	a := answer{Code: s.Code()}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			a.Reason, a.Endpoint = d.Reason, d.Metadata["endpoint"]
		case *errdetails.RetryInfo:
			a.Retry = d.RetryDelay.AsDuration()
		case *errdetails.QuotaFailure:
			for _, v := range d.Violations {
				a.Violations = append(a.Violations, v.Subject+": "+v.Description)
			}
		}
	}
	return a
}

func TestResponse_ofEachReason(t *testing.T) {
	const service = `endpoints: [{name: chat, match: ["/chat.Chat/*"], `
	const minute = service + `limits: [{name: minute, limit: 1, window: 1m}]}]`
	const money = `
budgets: [{name: day, budget: "1.00", window: 24h}]
` + service + `unbounded: true, cost: {estimate: "0.60", hold: 24h}}]`
	const abuse = `
blocks: [{name: many, attempts: all, tiers: [{threshold: 2, window: 1m, block: 5m}]}]
` + service + `unbounded: true, block: many}]`
	page, err := os.ReadFile("../../docs/protect-a-service.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		policy  string
		options grpcguard.Options
		before  int
		pairs   []string
		damage  func(t *testing.T, rdb *redis.Client)
		want    answer
	}{
		"limit": {policy: minute, before: 1, want: answer{codes.ResourceExhausted, "RATE_LIMITED", "chat", time.Minute, []string{"chat/minute: 1 in 1m0s; admits again in 1m0s"}}},
		"global": {policy: `
limits: [{name: all, by: all, limit: 1, window: 3m}]
` + service + `}]`, before: 1, want: answer{codes.ResourceExhausted, "RATE_LIMITED", "chat", 3 * time.Minute, nil}},
		"budget":            {policy: money, before: 1, want: answer{codes.ResourceExhausted, "COST_EXCEEDED", "chat", 24 * time.Hour, []string{"chat/day: a budget of 1.000000 in 24h0m0s; admits again in 24h0m0s"}}},
		"attempts":          {policy: abuse, before: 1, want: answer{codes.ResourceExhausted, "TOO_MANY_ATTEMPTS", "chat", 5 * time.Minute, nil}},
		"blocked":           {policy: abuse, before: 2, want: answer{codes.ResourceExhausted, "BLOCKED", "chat", 5 * time.Minute, nil}},
		"denied":            {policy: minute + "\n" + `overrides: {deny: ["key=ada"]}`, want: answer{codes.PermissionDenied, "DENIED", "chat", 0, nil}},
		"no challenge":      {policy: service + `unbounded: true, challenge: {required: true}}]`, want: answer{codes.PermissionDenied, "CHALLENGE_REQUIRED", "chat", 0, nil}},
		"a wrong challenge": {policy: service + `unbounded: true, challenge: {required: true}}]`, pairs: []string{"x-challenge", "abc"}, want: answer{codes.PermissionDenied, "CHALLENGE_INVALID", "chat", 0, nil}},
		"two keys":          {policy: minute, pairs: []string{"x-api-key", "bob"}, want: answer{codes.InvalidArgument, "BAD_REQUEST", "", 0, nil}},
		"closed without Redis": {
			policy: "on_failure: closed\n" + minute, damage: func(_ *testing.T, rdb *redis.Client) { _ = rdb.Close() },
			want: answer{codes.Unavailable, "LIMITER_UNAVAILABLE", "", time.Second, nil},
		},
		"open without Redis": {policy: minute, before: 1, damage: func(_ *testing.T, rdb *redis.Client) { _ = rdb.Close() }, want: answer{}},
		"unreadable": {policy: minute, damage: func(t *testing.T, rdb *redis.Client) {
			if err := rdb.RPush(t.Context(), "rl:{key=ada}:sliding_log:60000000:chat/minute", "no time").Err(); err != nil {
				t.Error(err)
			}
		}, want: answer{codes.Internal, "LIMITER_FAILED", "", 0, nil}},
	} {
		for _, method := range methods {
			t.Run(name+method, func(t *testing.T) {
				f := serve(t, c.policy, c.options, nil)
				pairs := append([]string{"x-api-key", "ada"}, c.pairs...)
				for range c.before {
					_ = f.call(t.Context(), method, pairs...)
				}
				if c.damage != nil {
					c.damage(t, f.redis)
				}
				if diff := cmp.Diff(c.want, answerOf(f.call(t.Context(), method, pairs...))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if row := fmt.Sprintf("(?m)\\| `%s` \\| [^|]*`%s`[^|]*\\|$", c.want.Code, c.want.Reason); c.want.Reason != "" && !regexp.MustCompile(row).Match(page) {
					t.Errorf("docs/protect-a-service.md has no row of %s %s", c.want.Code, c.want.Reason)
				}
			})
		}
	}
}

// The peer has no address, as on a Unix socket, and the status does not blame what the client sent.
func TestResponse_toAPeerWithoutAnAddress(t *testing.T) {
	f := serve(t, `endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: minute, limit: 1, window: 1m}]}]`, grpcguard.Options{}, nil)
	for _, method := range methods {
		got := status.Convert(f.call(t.Context(), method))
		if got.Code() != codes.InvalidArgument || got.Message() != "the client could not be identified" {
			t.Errorf("%s: %v", method, got)
		}
	}
}

func TestResponse_namesWhatIsOutOfBounds(t *testing.T) {
	f := serve(t, `endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, challenge: {required: true}}]`, grpcguard.Options{}, nil)
	for _, method := range methods {
		got := status.Convert(f.call(t.Context(), method, "x-api-key", "ada", "x-challenge", strings.Repeat("a", 129)))
		if got.Code() != codes.InvalidArgument || got.Message() != "the challenge of the call is out of bounds" {
			t.Errorf("%s: %v", method, got)
		}
	}
}

func TestMethods_matchBeforeTheirService(t *testing.T) {
	f := serve(t, `
endpoints:
  - {name: all, match: ["/chat.Chat/*"], limits: [{name: minute, limit: 1, window: 1m}]}
  - {name: ask, match: ["/chat.Chat/Ask"], limits: [{name: minute, limit: 2, window: 1m}]}
  - {name: other, match: ["/chat.Cha/*", "/chat.Chat/S"], limits: [{name: minute, limit: 1, window: 1m}]}
`, grpcguard.Options{}, nil)
	for _, step := range []struct {
		method string
		want   answer
	}{
		{"/chat.Chat/Say", answer{}},
		{"/chat.Chat/Listen", answer{codes.ResourceExhausted, "RATE_LIMITED", "all", time.Minute, []string{"all/minute: 1 in 1m0s; admits again in 1m0s"}}},
		{"/chat.Chat/Ask", answer{}},
		{"/chat.Chat/Ask", answer{}},
		{"/chat.Chat/Ask", answer{codes.ResourceExhausted, "RATE_LIMITED", "ask", time.Minute, []string{"ask/minute: 2 in 1m0s; admits again in 1m0s"}}},
	} {
		if diff := cmp.Diff(step.want, answerOf(f.call(t.Context(), step.method, "x-api-key", "ada"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.method, diff)
		}
	}
	if err := f.call(t.Context(), "/chat.Chat/Say", "x-api-key", "bob"); err != nil {
		t.Errorf("another client: %v", err)
	}
}

func TestMethods_othersPass(t *testing.T) {
	f := serve(t, `endpoints: [{name: ask, match: ["/chat.Chat/Ask", "POST /chat.Chat/Say"], limits: [{name: minute, limit: 1, window: 1m}]}]`, grpcguard.Options{}, func(ctx context.Context) error {
		d := grpcguard.FromContext(ctx)
		if !d.Allowed || d.Endpoint != "" {
			t.Errorf("the decision of a method without an endpoint: %+v", d)
		}
		if err := d.Charge.Settle(ctx, 1); err == nil {
			t.Error("settled a call that reserved nothing")
		}
		return nil
	})
	for range 3 {
		for _, method := range methods {
			if err := f.call(t.Context(), method); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
}

func TestIdempotency_isPerMethod(t *testing.T) {
	f := serve(t, `
endpoints:
  - name: chat
    match: ["/chat.Chat/*"]
    idempotency: {header: Idempotency-Key}
    limits: [{name: minute, limit: 3, window: 1m}]
`, grpcguard.Options{}, nil)
	for i, c := range []struct {
		method, id string
		want       codes.Code
	}{
		{"Say", "a", codes.OK},
		{"Say", "a", codes.OK},
		{"Ask", "a", codes.OK},
		{"Say", "b", codes.OK},
		{"Say", "c", codes.ResourceExhausted},
		{"Ask", "a", codes.OK},
		{"Ask", "", codes.ResourceExhausted},
	} {
		pairs := []string{"x-api-key", "ada"}
		if c.id != "" {
			pairs = append(pairs, "idempotency-key", c.id)
		}
		if got := status.Code(f.call(t.Context(), "/chat.Chat/"+c.method, pairs...)); got != c.want {
			t.Errorf("call %d, %s of %q: %v", i+1, c.method, c.id, got)
		}
	}
	// Two IDs count as none.
	if got := status.Code(f.call(t.Context(), "/chat.Chat/Say", "x-api-key", "ada", "idempotency-key", "a", "idempotency-key", "b")); got != codes.ResourceExhausted {
		t.Errorf("two IDs: %v", got)
	}
}

// A recovery interceptor outside of the guard answers Internal or Unknown to a call whose handler panics.
func TestCount_panics(t *testing.T) {
	for _, method := range methods {
		for code, want := range map[string]codes.Code{"Internal": codes.ResourceExhausted, "Unknown": codes.ResourceExhausted, "OK": codes.Unknown, "NotFound": codes.Unknown} {
			f := serve(t, `
endpoints:
  - name: login
    match: ["/chat.Chat/*"]
    limits: [{name: failures, limit: 1, window: 15m, count: {code: [`+code+`]}}]
`, grpcguard.Options{}, func(context.Context) error { panic("a bug") })
			var got codes.Code
			for range 2 {
				got = status.Code(f.call(t.Context(), method, "x-api-key", "ada"))
				if err := f.guard.Close(); err != nil { // waits for refunds
					t.Fatal(err)
				}
			}
			if got != want {
				t.Errorf("%s, a limit that counts %s: the second call got %s, want %s", method, code, got, want)
			}
		}
	}
}

func TestCount_onlyCodesThatCount(t *testing.T) {
	for _, method := range methods {
		wrong := true
		f := serve(t, `
endpoints:
  - name: login
    match: ["/chat.Chat/*"]
    limits: [{name: failures, limit: 2, window: 15m, count: {code: [Unauthenticated]}}]
`, grpcguard.Options{}, func(context.Context) error {
			if wrong {
				return status.Error(codes.Unauthenticated, "no")
			}
			return nil
		})
		ask := func() codes.Code {
			code := status.Code(f.call(t.Context(), method, "x-api-key", "ada"))
			if err := f.guard.Close(); err != nil { // waits for refunds
				t.Fatal(err)
			}
			return code
		}
		var got []codes.Code
		for _, wrong = range []bool{false, false, false, true, false, true, false} {
			got = append(got, ask())
		}
		want := []codes.Code{codes.OK, codes.OK, codes.OK, codes.Unauthenticated, codes.OK, codes.Unauthenticated, codes.ResourceExhausted}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", method, diff)
		}
	}
}

func TestHandlers_endTheReservationInAnyCase(t *testing.T) {
	entered := make(chan struct{}, 1)
	for name, c := range map[string]struct {
		handler handler
		hangUp  bool
		want    fcall.Micros
	}{
		"returns": {handler: func(context.Context) error { return nil }, want: 250_000},
		"fails":   {handler: func(context.Context) error { return status.Error(codes.NotFound, "no") }, want: 250_000},
		"settles": {handler: func(ctx context.Context) error { return grpcguard.FromContext(ctx).Charge.Settle(ctx, 70_000) }, want: 70_000},
		"panics":  {handler: func(context.Context) error { panic("what") }, want: 0},
		"its caller hangs up": {handler: func(ctx context.Context) error {
			entered <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}, hangUp: true, want: 0},
		"answers a caller that has gone": {handler: func(ctx context.Context) error {
			entered <- struct{}{}
			<-ctx.Done()
			return nil
		}, hangUp: true, want: 250_000},
	} {
		for _, method := range methods {
			t.Run(name+method, func(t *testing.T) {
				f := serve(t, `
budgets: [{name: day, budget: "1.00", window: 24h}]
endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, cost: {estimate: "0.25"}}]`, grpcguard.Options{}, c.handler)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.hangUp {
					go func() {
						<-entered
						cancel()
					}()
				}
				_ = f.call(ctx, method, "x-api-key", "ada")
				f.server.GracefulStop() // waits for handlers
				if err := f.guard.Close(); err != nil {
					t.Error(err)
				}
				costs, err := cost.New(f.redis, fcall.Options{})
				if err != nil {
					t.Fatal(err)
				}
				peek, err := costs.Peek(t.Context(), cost.PeekParams{Subject: "key=ada", Budgets: cost.PackBudget(cost.Budget{Budget: 1_000_000, Window: 24 * time.Hour, Name: "day"})})
				if err != nil {
					t.Fatal(err)
				}
				if got := peek.Budgets[0].Spent; got != c.want {
					t.Errorf("%v is spent, want %v", got, c.want)
				}
			})
		}
	}
}

func TestWait_endsAtTheDeadline(t *testing.T) {
	f := serve(t, `endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: minute, limit: 1, window: 1m}]}]`, grpcguard.Options{Wait: true}, nil)
	if err := f.call(t.Context(), "/chat.Chat/Say", "x-api-key", "ada"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began := time.Now()
	if a := answerOf(f.call(ctx, "/chat.Chat/Say", "x-api-key", "ada")); a.Code != codes.ResourceExhausted || a.Retry != time.Minute {
		t.Errorf("passes in a minute, deadline in 20 s: %+v", a)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("refused after %v", took)
	}
}

// fieldsOf returns the rate limit fields of metadata, in which what is left of an hour is an hour.
func fieldsOf(md metadata.MD) map[string]string {
	got := map[string]string{}
	for key, values := range md {
		if strings.Contains(key, "ratelimit") || key == "retry-after" || key == "budget-warning" || key == "grpc-retry-pushback-ms" {
			got[key] = regexp.MustCompile(`\b3[56]\d\d(\d{3})?\b`).ReplaceAllString(strings.Join(values, "|"), "3600")
		}
	}
	return got
}

func TestHeaders_equalThoseOfHTTP(t *testing.T) {
	type seen = map[string]string
	const policies = `"hour";q=2;w=3600, "rate";q=50;w=3600`
	for name, c := range map[string]struct {
		options grpcguard.Options
		want    [3]seen // of the first, second and third call
	}{
		"draft 11": {grpcguard.Options{}, [3]seen{
			{"ratelimit": `"hour";r=1;t=3600, "rate";r=49;t=360`, "ratelimit-policy": policies},
			{"ratelimit": `"hour";r=0;t=3600, "rate";r=48;t=720`, "ratelimit-policy": policies},
			{"ratelimit": `"hour";r=0;t=3600`, "ratelimit-policy": `"hour";q=2;w=3600`, "retry-after": "3600", "grpc-retry-pushback-ms": "3600"},
		}},
		"draft 6": {grpcguard.Options{Headers: grpcguard.Draft06}, [3]seen{
			{"ratelimit-limit": "2", "ratelimit-remaining": "1", "ratelimit-reset": "3600"},
			{"ratelimit-limit": "2", "ratelimit-remaining": "0", "ratelimit-reset": "3600"},
			{"ratelimit-limit": "2", "ratelimit-remaining": "0", "ratelimit-reset": "3600", "retry-after": "3600", "grpc-retry-pushback-ms": "3600"},
		}},
		"none but x": {grpcguard.Options{Headers: grpcguard.NoHeaders, XHeaders: true}, [3]seen{
			{"x-ratelimit-limit": "2", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "3600"},
			{"x-ratelimit-limit": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "3600"},
			{"x-ratelimit-limit": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "3600", "retry-after": "3600", "grpc-retry-pushback-ms": "3600"},
		}},
		"none": {grpcguard.Options{Headers: grpcguard.NoHeaders}, [3]seen{{}, {}, {"retry-after": "3600", "grpc-retry-pushback-ms": "3600"}}},
	} {
		for _, method := range methods {
			t.Run(name+method, func(t *testing.T) {
				onEach(t, func(t *testing.T, rdb *redis.Client) {
					f := serveOn(t, rdb, `
limits: [{name: all, by: all, kind: gcra, limit: 1000, window: 1s}]
endpoints:
  - name: chat
    match: ["/chat.Chat/*"]
    limits:
      - {name: hour, limit: 2, window: 1h}
      - {name: rate, kind: gcra, limit: 10, window: 1h, burst: 50}
      - {name: dark, limit: 1, window: 1h, shadow: true}`, c.options, nil)
					for i, want := range c.want {
						header, trailer, err := f.ask(t, method, "x-api-key", "ada")
						got, other := header, trailer
						if i == 2 {
							got, other = trailer, header
						}
						if diff := cmp.Diff(want, got); diff != "" || len(other) > 0 || (err != nil) != (i == 2) {
							t.Errorf("call %d: %v, and %v (-want +got):\n%s", i+1, err, other, diff)
						}
					}
				})
			})
		}
	}
}

// ask calls a method and returns its rate limit fields.
func (f *fixture) ask(t *testing.T, method string, pairs ...string) (header, trailer map[string]string, err error) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), pairs...)
	if method != "/chat.Chat/Listen" {
		var h, tr metadata.MD
		err = f.conn.Invoke(ctx, method, new(emptypb.Empty), new(emptypb.Empty), grpc.Header(&h), grpc.Trailer(&tr))
		return fieldsOf(h), fieldsOf(tr), err
	}
	s, err := f.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	if err = s.SendMsg(new(emptypb.Empty)); err == nil {
		err = s.RecvMsg(new(emptypb.Empty))
	}
	h, _ := s.Header()
	if err == nil {
		_ = s.RecvMsg(new(emptypb.Empty)) // the end, which has the trailer
	}
	return fieldsOf(h), fieldsOf(s.Trailer()), err
}

func TestHeaders_unavailableHasRetryAfter(t *testing.T) {
	for _, method := range methods {
		f := serve(t, "on_failure: closed\n"+`endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: minute, limit: 1, window: 1m}]}]`, grpcguard.Options{}, nil)
		_ = f.redis.Close()
		_, trailer, err := f.ask(t, method, "x-api-key", "ada")
		if diff := cmp.Diff(map[string]string{"retry-after": "1", "grpc-retry-pushback-ms": "1000"}, trailer); diff != "" || status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v (-want +got):\n%s", method, err, diff)
		}
	}
}
