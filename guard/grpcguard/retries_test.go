package grpcguard_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
)

// retrying has grpc-go's client retry each refusal: after its own backoff of a millisecond or of a quarter of an hour, or when the server says.
const retrying = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "BACKOFF", "maxBackoff": "BACKOFF",
	"backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED", "PERMISSION_DENIED"]}}]}`

// retryingClient connects to a server with a retry policy, and counts attempts.
func (f *fixture) retryingClient(t *testing.T, backoff string) (*grpc.ClientConn, *atomic.Int64) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = f.server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(strings.ReplaceAll(retrying, "BACKOFF", backoff)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, &f.asked
}

// A client comes back exactly once, when the limit admits it: its own backoff is far longer.
func TestPushback_retriesWhenTheCallPasses(t *testing.T) {
	server := embedded.New(embedded.Options{}) // whose clock is the machine's
	rdb := server.Client()
	t.Cleanup(func() { _, _ = rdb.Close(), server.Close() })
	f := serveOn(t, rdb, `endpoints: [{name: chat, match: ["/chat.Chat/*"], limits: [{name: limit, by: all, limit: 1, window: 300ms}]}]`, grpcguard.Options{}, nil)
	conn, asked := f.retryingClient(t, "900s")
	for call := range 2 { // the second waits for the first one's window
		if err := conn.Invoke(t.Context(), "/chat.Chat/Say", new(emptypb.Empty), new(emptypb.Empty)); err != nil {
			t.Errorf("call %d: %v", call+1, err)
		}
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("%d attempts of 2 calls, want 3", n)
	}
}

// A client does not retry if no wait helps, or none that a pushback can say. Its own backoff is a millisecond.
func TestPushback_endsRetries(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		want codes.Code
	}{
		"denied":             {"endpoints: [{name: chat, match: [/chat.Chat/Say], unbounded: true}]\noverrides: {deny: [key=ada]}", codes.PermissionDenied},
		"no challenge":       {`endpoints: [{name: chat, match: [/chat.Chat/Say], unbounded: true, challenge: {required: true}}]`, codes.PermissionDenied},
		"longer than 24 d":   {`endpoints: [{name: chat, match: [/chat.Chat/Say], limits: [{name: month, limit: 1, window: 30d}]}]`, codes.ResourceExhausted},
		"more than a budget": {"budgets: [{name: day, budget: 1, window: 1d}]\nendpoints: [{name: chat, match: [/chat.Chat/Say], unbounded: true, cost: {}}]", codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			var estimate guard.Amounts
			f := serve(t, c.yaml, grpcguard.Options{Estimate: func(context.Context, string, any) guard.Amounts {
				estimate.Money += 1_000_000
				return estimate
			}}, nil)
			conn, asked := f.retryingClient(t, "0.001s")
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "ada")
			if c.want == codes.ResourceExhausted {
				if err := conn.Invoke(ctx, "/chat.Chat/Say", new(emptypb.Empty), new(emptypb.Empty)); err != nil {
					t.Fatal(err)
				}
			}
			before := asked.Load()
			var trailer metadata.MD
			err := conn.Invoke(ctx, "/chat.Chat/Say", new(emptypb.Empty), new(emptypb.Empty), grpc.Trailer(&trailer))
			if n := asked.Load() - before; n != 1 || status.Code(err) != c.want || strings.Join(trailer["grpc-retry-pushback-ms"], "|") != "-1" {
				t.Errorf("%d attempts, %v, trailer %v; want one attempt and %v", n, err, trailer, c.want)
			}
		})
	}
}
