package grpcguard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
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

// A challenge is consumed once; a receipt may repeat it.
func TestChallenge_isConsumedOnce(t *testing.T) {
	f := serve(t, `
endpoints:
  - name: chat
    match: ["/chat.Chat/*"]
    idempotency: {header: Idempotency-Key, for: 1h}
    limits: [{name: hour, limit: 100, window: 1h}]
    challenge: {required: true}`, grpcguard.Options{}, nil)
	challenges, err := challenge.New(f.redis, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	issue := func() string {
		issued, err := challenges.Issue(t.Context(), challenge.IssueParams{Subject: "key=ada", Token: fcall.NewToken(), TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return issued.Token
	}
	say, ask := issue(), issue()
	for i, step := range []struct {
		method, token, id string
		want              answer
	}{
		{"/chat.Chat/Say", say, "", answer{}},
		{"/chat.Chat/Say", say, "", answer{Code: codes.PermissionDenied, Reason: "CHALLENGE_INVALID", Endpoint: "chat"}},
		{"/chat.Chat/Ask", ask, "one", answer{}},
		{"/chat.Chat/Ask", ask, "one", answer{}},
		{"/chat.Chat/Ask", ask, "two", answer{Code: codes.PermissionDenied, Reason: "CHALLENGE_INVALID", Endpoint: "chat"}},
		{"/chat.Chat/Ask", strings.Repeat("a", 129), "", answer{Code: codes.InvalidArgument, Reason: "BAD_REQUEST"}},
	} {
		pairs := []string{"x-api-key", "ada", "x-challenge", step.token}
		if step.id != "" {
			pairs = append(pairs, "idempotency-key", step.id)
		}
		if diff := cmp.Diff(step.want, answerOf(f.call(t.Context(), step.method, pairs...))); diff != "" {
			t.Errorf("call %d (-want +got):\n%s", i+1, diff)
		}
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
