package grpcguard_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/guard/grpcguard"
)

// talk opens a stream of chat.Chat/Talk.
func (f *fixture) talk(ctx context.Context, t *testing.T, key string) grpc.ClientStream {
	t.Helper()
	s, err := f.conn.NewStream(metadata.AppendToOutgoingContext(ctx, "x-api-key", key), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/chat.Chat/Talk")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// say sends a message and returns the error of its answer.
func say(s grpc.ClientStream) error {
	_ = s.SendMsg(new(emptypb.Empty)) // RecvMsg returns the stream's error
	return s.RecvMsg(new(emptypb.Empty))
}

func TestMessages_countByMessage(t *testing.T) {
	for name, match := range map[string]string{"of a stream that counts, too": "/chat.Chat/Talk", "of a stream that does not": "/chat.Chat/Say"} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, `
endpoints:
  - {name: talk, match: ["`+match+`"], limits: [{name: streams, limit: 5, window: 1m}]}
  - {name: message, limits: [{name: bytes, kind: gcra, limit: 10, window: 10m}]}`,
				grpcguard.Options{
					Messages: func(method string) string { return map[string]string{"/chat.Chat/Talk": "message"}[method] },
					Weight:   func(_ context.Context, _ string, m any) int64 { return map[bool]int64{true: 1, false: 2}[m == nil] },
				}, nil)
			s := f.talk(t.Context(), t, "ada")
			for i := range 5 {
				if err := say(s); err != nil {
					t.Fatalf("message %d: %v", i+1, err)
				}
			}
			want := answer{codes.ResourceExhausted, "RATE_LIMITED", "message", 2 * time.Minute, []string{"message/bytes: 10 in 10m0s; admits again in 2m0s"}}
			if diff := cmp.Diff(want, answerOf(say(s))); diff != "" {
				t.Errorf("the sixth message of five (-want +got):\n%s", diff)
			}
			if err := say(f.talk(t.Context(), t, "ada")); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("another stream's message: %v", err)
			}
			if err := say(f.talk(t.Context(), t, "bob")); err != nil {
				t.Errorf("another client's message: %v", err)
			}
		})
	}
}

func TestMessages_unknownEndpointIsAnError(t *testing.T) {
	f := serve(t, `endpoints: [{name: talk, match: ["/chat.Chat/Talk"], unbounded: true}]`, grpcguard.Options{Messages: func(string) string { return "none" }}, nil)
	if err := say(f.talk(t.Context(), t, "ada")); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
}
