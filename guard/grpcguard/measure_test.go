package grpcguard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
)

// message returns an Empty with n extra bytes.
func message(n int) *emptypb.Empty {
	m := new(emptypb.Empty)
	if n > 0 {
		m.ProtoReflect().SetUnknown(append([]byte{1<<3 | 2, byte(n - 2)}, make([]byte, n-2)...))
	}
	return m
}

// size is the weight of a message; a stream begins without one.
func size(_ context.Context, _ string, m any) int64 {
	if m == nil {
		return 1
	}
	return int64(proto.Size(m.(proto.Message)))
}

func TestWeight_ofTheMessage(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		f := serveOn(t, rdb, `
endpoints:
  - {name: say, match: ["/chat.Chat/Say"], limits: [{name: bytes, kind: gcra, limit: 50, window: 1h}]}
  - {name: talk, match: ["/chat.Chat/Talk"], limits: [{name: streams, kind: gcra, limit: 2, window: 1h}]}
  - {name: message, limits: [{name: bytes, kind: gcra, limit: 100, window: 1h}]}`, grpcguard.Options{
			Weight: size, Messages: func(string) string { return "message" },
		}, nil)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "ada")
		unary := func(n int) codes.Code {
			return status.Code(f.conn.Invoke(ctx, "/chat.Chat/Say", message(n), new(emptypb.Empty)))
		}
		s := f.talk(t.Context(), t, "ada")
		stream := func(n int) codes.Code {
			_ = s.SendMsg(message(n))
			return status.Code(s.RecvMsg(new(emptypb.Empty)))
		}
		for _, step := range []struct {
			name string
			send func(int) codes.Code
			size int
			want codes.Code
		}{
			{"30 of 50 bytes", unary, 30, codes.OK},
			{"30 more", unary, 30, codes.ResourceExhausted},
			{"20 more", unary, 20, codes.OK},
			{"2 more", unary, 2, codes.ResourceExhausted},
			{"a message of 60 of 100 bytes", stream, 60, codes.OK},
			{"40 more", stream, 40, codes.OK},
			{"2 more", stream, 2, codes.ResourceExhausted},
		} {
			if got := step.send(step.size); got != step.want {
				t.Errorf("%s: %v, want %v", step.name, got, step.want)
			}
		}
	})
}

func TestEstimate_ofTheMessage(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		f := serveOn(t, rdb, `
budgets: [{name: day, budget: "0.0001", window: 24h}]
endpoints: [{name: say, match: ["/chat.Chat/Say"], unbounded: true, cost: {estimate: "0.0001"}}]`, grpcguard.Options{
			Estimate: func(ctx context.Context, method string, m any) guard.Amounts {
				return guard.Amounts{Money: fcall.Micros(size(ctx, method, m))}
			},
		}, nil)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "ada")
		var got []codes.Code
		for _, n := range []int{60, 60, 40, 2} {
			got = append(got, status.Code(f.conn.Invoke(ctx, "/chat.Chat/Say", message(n), new(emptypb.Empty))))
		}
		if diff := cmp.Diff([]codes.Code{codes.OK, codes.ResourceExhausted, codes.OK, codes.ResourceExhausted}, got); diff != "" {
			t.Errorf("of 100 millionths (-want +got):\n%s", diff)
		}
	})
}

// The payload of a challenge is the method. A challenge is consumed once; a receipt may repeat it.
func TestChallenge_isForTheMethod(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		f := serveOn(t, rdb, `
endpoints:
  - name: chat
    match: ["/chat.Chat/*"]
    idempotency: {header: Idempotency-Key, for: 1h}
    limits: [{name: hour, limit: 100, window: 1h}]
    challenge: {required: true, payload: path}`, grpcguard.Options{}, nil)
		challenges, err := challenge.New(rdb, fcall.Options{})
		if err != nil {
			t.Fatal(err)
		}
		issue := func(payload string) string {
			issued, err := challenges.Issue(t.Context(), challenge.IssueParams{Subject: "key=ada", Token: fcall.NewToken(), TTL: time.Minute, Payload: payload})
			if err != nil {
				t.Fatal(err)
			}
			return issued.Token
		}
		say, ask := issue("/chat.Chat/Say"), issue("/chat.Chat/Ask")
		for i, step := range []struct {
			method, token, id string
			want              answer
		}{
			{"/chat.Chat/Say", say, "", answer{}},
			{"/chat.Chat/Say", say, "", answer{Code: codes.PermissionDenied, Reason: "CHALLENGE_INVALID", Endpoint: "chat"}},
			{"/chat.Chat/Listen", ask, "", answer{Code: codes.PermissionDenied, Reason: "CHALLENGE_INVALID", Endpoint: "chat"}},
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
	})
}
