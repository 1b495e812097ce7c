package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// eachClient runs a test through every way in that keeps a connection.
func eachClient(t *testing.T, test func(t *testing.T, client *redis.Client)) {
	t.Helper()
	open := map[string]func(t *testing.T, s *embedded.Server) *redis.Client{
		"memory": func(_ *testing.T, s *embedded.Server) *redis.Client { return s.Client() },
		"tcp": func(t *testing.T, s *embedded.Server) *redis.Client {
			t.Helper()
			addr, err := s.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return redis.NewClient(&redis.Options{Addr: addr.String()})
		},
		"unix": func(t *testing.T, s *embedded.Server) *redis.Client {
			t.Helper()
			addr, err := s.Listen(filepath.Join(t.TempDir(), "redis.sock"))
			if err != nil {
				t.Fatal(err)
			}
			return redis.NewClient(&redis.Options{Network: "unix", Addr: addr.String()})
		},
	}
	for name, connect := range open {
		t.Run(name, func(t *testing.T) {
			s, _ := newServer(t)
			client := connect(t, s)
			defer client.Close()
			test(t, client)
		})
	}
}

func TestClient_speaksToGoRedis(t *testing.T) {
	eachClient(t, func(t *testing.T, client *redis.Client) {
		ctx := context.Background()
		must(t, client.Set(ctx, "k", "v\r\n\x00\xff", time.Minute).Err())
		if got := client.Get(ctx, "k").Val(); got != "v\r\n\x00\xff" {
			t.Errorf("GET = %q", got)
		}
		if err := client.Get(ctx, "none").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("GET of a missing key: %v", err)
		}
		if name, err := client.FunctionLoad(ctx, library).Result(); name != "testlib" || err != nil {
			t.Errorf("FUNCTION LOAD = %q, %v", name, err)
		}
		if got, err := client.FCall(ctx, "add", []string{"n"}).Int(); got != 1 || err != nil {
			t.Errorf("FCALL = %d, %v", got, err)
		}
		if info, err := client.Info(ctx, "server").Result(); !strings.Contains(info, "redis_version:") || err != nil {
			t.Errorf("INFO = %q, %v", info, err)
		}
	})
}

func TestClient_longPipeline(t *testing.T) {
	eachClient(t, func(t *testing.T, client *redis.Client) {
		ctx := context.Background()
		value := strings.Repeat("x", 500)
		pipe := client.Pipeline()
		var cmds []*redis.StringCmd
		for i := range 5000 {
			pipe.Set(ctx, fmt.Sprint("k", i), value, 0)
			cmds = append(cmds, pipe.Get(ctx, fmt.Sprint("k", i)))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		for i, cmd := range cmds {
			if cmd.Val() != value {
				t.Fatalf("reply %d is %q", i, cmd.Val())
			}
		}
	})
}

func TestClient_transactions(t *testing.T) {
	eachClient(t, func(t *testing.T, client *redis.Client) {
		ctx := context.Background()
		pipe := client.TxPipeline()
		n := pipe.Incr(ctx, "n")
		bad := pipe.LPush(ctx, "n", "x")
		if _, err := pipe.Exec(ctx); !redis.HasErrorPrefix(err, "WRONGTYPE") || n.Val() != 1 || bad.Err() == nil {
			t.Errorf("EXEC: %v, INCR = %d, LPUSH: %v", err, n.Val(), bad.Err())
		}
		err := client.Watch(ctx, func(tx *redis.Tx) error {
			if err := client.Incr(ctx, "n").Err(); err != nil { // another connection comes between
				return err
			}
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "n", 100, 0).Err() })
			return err
		}, "n")
		if !errors.Is(err, redis.TxFailedErr) {
			t.Errorf("EXEC after a watched key changed: %v", err)
		}
		if got := client.Get(ctx, "n").Val(); got != "2" {
			t.Errorf("n = %s, want 2", got)
		}
	})
}

func TestListen_handTyped(t *testing.T) {
	s, _ := newServer(t)
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, send, want string }{
		{"inline", "SET  k abA\r\nGET k\n", "+OK\r\n$3\r\nabA\r\n"},
		{"empty lines", "\r\n\r\nPING\r\n", "+PONG\r\n"},
		{"pipelined", "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", "+PONG\r\n$2\r\nhi\r\n"},
		{"HELLO 4", "HELLO 4\r\nPING\r\n", "-NOPROTO unsupported protocol version\r\n+PONG\r\n"},
		{"quit", "QUIT\r\nPING\r\n", "+OK\r\n"},
		{"quotes", "GET \"k\r\n", "-ERR Protocol error: the embedded engine reads no quotes in a line\r\n"},
		{"bad length", "*1\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"bad count", "*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
		{"no bulk", "*1\r\n:1\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"},
		{"line ends in an error", "*1\r\n$4\r\na\r\nb\r\n", "-ERR unknown command 'a  b' (the embedded engine has no 'a  b', see docs/reference/embedded.md), with args beginning with: \r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr.String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(test.send)); err != nil {
				t.Fatal(err)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			var got strings.Builder
			if _, err := bufio.NewReader(conn).WriteTo(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("replies (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClose_endsConnections(t *testing.T) {
	s := embedded.New(embedded.Options{})
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if line, err := r.ReadString('\n'); line != "+PONG\r\n" {
		t.Fatalf("PING: %q, %v", line, err)
	}
	must(t, s.Close())
	if _, err := r.ReadByte(); err == nil {
		t.Error("the connection is still open after Close")
	}
	if _, err := net.Dial("tcp", addr.String()); err == nil {
		t.Error("the port still accepts after Close")
	}
}

// The loader reads there who uses which libraries, of any server.
func TestClient_isListedAsRedis8ListsIt(t *testing.T) {
	s, _ := newServer(t)
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: addr.String(), ClientName: "checkout", IdentitySuffix: "quota_v1@1.2.0"})
	defer client.Close()
	list, err := client.ClientList(t.Context()).Result()
	want := `^id=1 addr=127.0.0.1:\d+ name=checkout flags=N db=0 multi=-1 watch=0 user=default resp=3 lib-name=go-redis\(quota_v1@1.2.0,go[^ ]*\) lib-ver=[0-9.]+\n$`
	if err != nil || !regexp.MustCompile(want).MatchString(list) {
		t.Errorf("%q, %v does not match %s", list, err, want)
	}
}
