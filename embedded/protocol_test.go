package embedded_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// go-redis decodes the same values in both protocols. lua_test/parity compares the replies themselves with those of real servers.
func TestProtocol_goRedisReadsTheSameInBoth(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, library)
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	setup := s.Client()
	defer setup.Close()
	for _, args := range [][]any{
		{"HSET", "h", "f", "v"},
		{"SADD", "set", "m"},
		{"ZADD", "z", 1.5, "a", 2, "b"},
		{"XADD", "x", "1-1", "f", "v"},
		{"RPUSH", "l", "a", "b"},
	} {
		if err := setup.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(args, err)
		}
	}
	asks := map[string]func(ctx context.Context, c *redis.Client) (any, error){
		"HGETALL":             func(ctx context.Context, c *redis.Client) (any, error) { return c.HGetAll(ctx, "h").Result() },
		"HGETALL of no key":   func(ctx context.Context, c *redis.Client) (any, error) { return c.HGetAll(ctx, "nope").Result() },
		"SMEMBERS":            func(ctx context.Context, c *redis.Client) (any, error) { return c.SMembers(ctx, "set").Result() },
		"SPOP":                func(ctx context.Context, c *redis.Client) (any, error) { return c.SPopN(ctx, "nope", 2).Result() },
		"ZSCORE":              func(ctx context.Context, c *redis.Client) (any, error) { return c.ZScore(ctx, "z", "a").Result() },
		"ZSCORE of no member": func(ctx context.Context, c *redis.Client) (any, error) { return c.ZScore(ctx, "z", "nope").Result() },
		"ZMSCORE": func(ctx context.Context, c *redis.Client) (any, error) {
			return c.ZMScore(ctx, "z", "a", "nope").Result()
		},
		"ZRANGE": func(ctx context.Context, c *redis.Client) (any, error) {
			return c.ZRangeWithScores(ctx, "z", 0, -1).Result()
		},
		"ZPOPMIN": func(ctx context.Context, c *redis.Client) (any, error) { return c.ZPopMin(ctx, "nope").Result() },
		"ZRANK": func(ctx context.Context, c *redis.Client) (any, error) {
			return c.ZRankWithScore(ctx, "z", "b").Result()
		},
		"XREAD": func(ctx context.Context, c *redis.Client) (any, error) {
			return c.XReadStreams(ctx, "x", "0").Result()
		},
		"CONFIG GET": func(ctx context.Context, c *redis.Client) (any, error) { return c.ConfigGet(ctx, "max*").Result() },
		"FUNCTION LIST": func(ctx context.Context, c *redis.Client) (any, error) {
			return c.FunctionList(ctx, redis.FunctionListQuery{WithCode: true}).Result()
		},
		"FUNCTION STATS": func(ctx context.Context, c *redis.Client) (any, error) {
			stats, err := c.FunctionStats(ctx).Result()
			return stats.Engines, err
		},
		"INFO":  func(ctx context.Context, c *redis.Client) (any, error) { return c.Info(ctx, "persistence").Result() },
		"FCALL": func(ctx context.Context, c *redis.Client) (any, error) { return c.FCall(ctx, "values", nil).Result() },
	}
	clients := []*redis.Client{
		redis.NewClient(&redis.Options{Addr: addr.String(), Protocol: 2}),
		redis.NewClient(&redis.Options{Addr: addr.String(), Protocol: 3}),
	}
	for _, c := range clients {
		defer c.Close()
	}
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			want, wantErr := ask(t.Context(), clients[0])
			got, err := ask(t.Context(), clients[1])
			if wantErr != nil && wantErr != redis.Nil {
				t.Fatal(wantErr)
			}
			if err != wantErr {
				t.Errorf("RESP3: %v, RESP2: %v", err, wantErr)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-RESP2 +RESP3):\n%s", diff)
			}
		})
	}
}

// These texts hold addresses and times, so lua_test/parity cannot compare them.
func TestProtocol_textsAreVerbatim(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"INFO", "CLIENT INFO", "CLIENT LIST"} {
		conn, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "HELLO 3\r\n"+command+"\r\nQUIT\r\n"); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if _, err := bufio.NewReader(conn).WriteTo(&got); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(got.String(), "modules\r\n*0\r\n")
		length, text, _ := strings.Cut(text, "\r\n")
		if !strings.HasPrefix(length, "=") || !strings.HasPrefix(text, "txt:") {
			t.Errorf("%s: %s %.20q, want a verbatim string", command, length, text)
		}
		if strings.HasPrefix(command, "CLIENT") && !strings.Contains(text, " resp=3 ") {
			t.Errorf("%s: %q lacks resp=3", command, text)
		}
		_ = conn.Close()
	}
}

func TestProcess_refusesHELLO(t *testing.T) {
	s, _ := newServer(t)
	if got := answer(call(s, "HELLO", 3)); got != "ERR hello needs a connection: use Client or Listen" {
		t.Errorf("got %v", got)
	}
}
