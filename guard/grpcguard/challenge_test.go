package grpcguard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
)

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
