package grpcguard_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/guard/grpcguard"
)

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

func TestNew_rejectsInvalidHeaders(t *testing.T) {
	f := serve(t, `endpoints: []`, grpcguard.Options{}, nil)
	_, err := grpcguard.New(f.guard, grpcguard.Options{Headers: 7})
	if want := "new grpc interceptor: invalid Headers 7: use Draft11, Draft06 or NoHeaders"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestHeaders_warnOfBudgets(t *testing.T) {
	for _, method := range methods {
		onEach(t, func(t *testing.T, rdb *redis.Client) {
			f := serveOn(t, rdb, `
cost: {budgets: [{name: day, budget: 1, window: 24h, warn: 0.5}]}
endpoints: [{name: chat, match: ["/chat.Chat/*"], unbounded: true, cost: {estimate: 0.3}}]`, grpcguard.Options{}, nil)
			for i, want := range []string{"", `"day";p=60`} {
				if header, _, err := f.ask(t, method, "x-api-key", "ada"); err != nil || header["budget-warning"] != want {
					t.Errorf("%s, call %d: %v, %v", method, i+1, header, err)
				}
			}
		})
	}
}
