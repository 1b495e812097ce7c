// Package callertest is the suite that every client of Redis passes under fcall and guard: go-redis and the adapters.
package callertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// Timeout is the client's own: how long it waits for a reply.
const Timeout = time.Second

// A Target is what a client connects to.
type Target struct {
	Addrs              []string
	Cluster            bool
	Sentinel           string // name of the primary at the sentinels Addrs, or ""
	Via                string // address that every connection goes to instead, or ""
	Username, Password string
}

// A Client is a client of Redis for generated clients and guard, which can also make a pipeline.
type Client interface {
	fcall.Caller
	Pipeline() redis.Pipeliner
}

// Open returns a client that waits for Timeout, and closes it with the test. A client of one server needs no answer.
type Open func(t *testing.T, to Target) Client

// Run runs the suite.
func Run(t *testing.T, open Open) {
	s := suite{open, places(t)}
	for name, test := range map[string]func(*testing.T){
		"runs at most once":           s.runsAtMostOnce,
		"ends with its context":       s.endsWithItsContext,
		"ended context":               s.endedContextSendsNothing,
		"read-only calls":             s.readOnlyIsRepeated,
		"left call":                   s.leftCall,
		"deadlines of others":         s.deadlinesOfOthers,
		"breaking connections":        s.breakingConnections,
		"no server":                   s.noServer,
		"restarted server":            s.restartedServer,
		"demoted server":              s.demotedServer,
		"server that refuses":         s.refusingServer,
		"errors of go-redis":          s.errorsOfGoRedis,
		"permissions":                 s.permissions,
		"missing library":             s.missingLibrary,
		"missing library, by node":    s.missingLibraryByNode,
		"moving slots":                s.movingSlots,
		"failover":                    s.failover,
		"guard admits what it should": s.guardAdmits,
		"guard recovers":              s.guardRecovers,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// A suite opens clients of the places, whose servers keep what they hold.
type suite struct {
	open Open
	at   map[string]Target
}

func (s suite) client(t *testing.T, to Target) *fcall.Client {
	t.Helper()
	return clientOf(t, s.open(t, to), fcall.Options{})
}

func clientOf(t *testing.T, caller fcall.Caller, o fcall.Options) *fcall.Client {
	t.Helper()
	c, err := fcall.NewClient(caller, counting.Library, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call(ctx context.Context, c *fcall.Client, function, key string) (int64, error) {
	r, err := c.Call(ctx, counting.Function(function), []string{key}, nil)
	if err != nil {
		return 0, err
	}
	n := r.Int("n")
	return n, r.Err()
}

func hit(t *testing.T, c *fcall.Client, key string) (int64, error) {
	t.Helper()
	return call(t.Context(), c, "hit", key)
}

// places are a server and a cluster of one node, each with the library.
func places(t *testing.T) map[string]Target {
	t.Helper()
	server, cluster := engines.OnPath(t).Start(t), engines.OnPath(t).StartCluster(t, 1, 0)
	load(t, server)
	load(t, cluster.Primaries[0])
	return map[string]Target{"server": {Addrs: []string{server.Addr}}, "cluster": {Addrs: cluster.Addrs(), Cluster: true}}
}

func load(t *testing.T, m *engines.Member) {
	t.Helper()
	if err := m.Client(t).FunctionLoadReplace(t.Context(), counting.Library.Code).Err(); err != nil {
		t.Fatal(err)
	}
}

func adminOf(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ran returns how often the calls with a key ran on a server.
func ran(t *testing.T, addr, key string) int {
	t.Helper()
	n, err := adminOf(t, addr).Get(t.Context(), key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n
}

func run(t *testing.T, c *redis.Client, words ...any) string {
	t.Helper()
	reply, err := c.Do(t.Context(), words...).Result()
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	return fmt.Sprint(reply)
}

// eventually polls until f has no error.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("not in 20 s: %s: %v", what, err)
}
