package loader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestCheck_reportsWhyServerRefusesLoads(t *testing.T) {
	const redis7 = "redis_version:7.2.0\r\nrole:master\r\n"
	unknown := "-ERR unknown command `FUNCTION`, with args beginning with: `LIST`\r\n"
	tests := []struct {
		name    string
		info    string
		special map[string]string
		reason  loader.Reason
		part    string
	}{
		{"too old", "redis_version:6.2.14\r\nrole:master\r\n", map[string]string{"FUNCTION LIST": unknown}, loader.ErrNoFunctions, "it is Redis 6.2.14 and answered: ERR unknown"},
		{"another product", "redis_version:7.4.0\r\ndragonfly_version:df-v1.27\r\n", map[string]string{"FUNCTION LIST": unknown}, loader.ErrNoFunctions, "it is Dragonfly df-v1.27 and answered: ERR unknown"},
		{"no version", "", map[string]string{"INFO": "-ERR unknown command 'INFO'\r\n", "FUNCTION LIST": unknown}, loader.ErrRejected, "unknown command 'INFO'"},
		{"a replica", redis7[:len(redis7)-len("role:master\r\n")] + "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:7001\r\n", nil, loader.ErrReadOnly, "this is a replica of 10.0.0.1:7001; deploy to that"},
		{"no password given", redis7, map[string]string{"INFO": "-NOAUTH Authentication required.\r\n"}, loader.ErrNoPermission, "requires a user and a password"},
		{"protected mode", redis7, map[string]string{"INFO": "-DENIED Redis is running in protected mode because\r\n"}, loader.ErrNoPermission, "protected mode"},
		{"loading", redis7, map[string]string{"FUNCTION LIST": "-LOADING Redis is loading the dataset in memory\r\n"}, loader.ErrNotReady, "still reading its data"},
		{"busy", redis7, map[string]string{"FUNCTION LIST": "-BUSY Redis is busy running a script.\r\n"}, loader.ErrNotReady, "FUNCTION KILL"},
		{"disk full", redis7, map[string]string{"FUNCTION LOAD": "-MISCONF Redis is configured to save RDB snapshots\r\n"}, loader.ErrNotReady, "cannot save to disk"},
		{"too few replicas", redis7, map[string]string{"FUNCTION LOAD": "-NOREPLICAS Not enough good replicas to write.\r\n"}, loader.ErrNotReady, "min-replicas-to-write"},
		{"a replica without its primary", redis7, map[string]string{"FUNCTION LIST": "-MASTERDOWN Link with MASTER is down\r\n"}, loader.ErrNotReady, "lost its primary"},
		{"full of clients", redis7, map[string]string{"INFO": "-ERR max number of clients reached\r\n"}, loader.ErrUnreachable, "reached maxclients"},
		{"not a Redis", redis7, map[string]string{"INFO": "HTTP/1.1 400 Bad Request\r\n"}, loader.ErrUnreachable, "no answer"},
		{"hangs up", redis7, map[string]string{"INFO": hangUp}, loader.ErrUnreachable, "closed the connection"},
		{"a list of another kind", redis7, map[string]string{"FUNCTION LIST": ":7\r\n"}, loader.ErrRejected, "the list of libraries is a int64"},
		{"a library without a name", redis7, map[string]string{"FUNCTION LIST": "*1\r\n*0\r\n"}, loader.ErrRejected, "library 1 of 1 in the list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newFakeServer(t, answers(tt.info, tt.special))
			state := check(t, impatient(t, s.addr))
			if state.Problem == nil {
				t.Fatal("no problem")
			}
			says(t, state.Problem, tt.reason, "check on "+s.addr+": ", tt.part)

			// A deploy says the same, and loads nothing.
			lib := bundle("shop", "1.0.0", "buy")
			p := plan(t, impatient(t, s.addr), lib)
			equal(t, "action", "unusable", stands(p.Nodes[0].Steps[0]))
			r, err := apply(impatient(t, s.addr), p, loader.ApplyOptions{})
			says(t, err, tt.reason, "deploy shop_v1 on "+s.addr+": ", tt.part)
			equal(t, "result", (*loader.Result)(nil), r)
		})
	}
}

func TestCheck_missingServerIsUnreachable(t *testing.T) {
	client := impatient(t, "127.0.0.1:1")
	says(t, check(t, client).Problem, loader.ErrUnreachable, "check on 127.0.0.1:1: no connection: dial tcp")
	_, err := loader.Ensure(t.Context(), client, bundle("shop", "1.0.0", "buy"))
	says(t, err, loader.ErrUnreachable, "ensure shop_v1 on 127.0.0.1:1: no connection")
}

func TestCheck_endsWithItsContext(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	silent := newFakeServer(t, func(string, []string) string { <-over; return hangUp })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	states, err := loader.NewTarget(impatient(t, silent.addr)).Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	says(t, states[0].Problem, loader.ErrUnreachable, "no answer")
	<-ctx.Done() // the socket's deadline is the context's, and may come just before it
	_, err = loader.NewTarget(impatient(t, silent.addr)).Check(ctx)
	says(t, err, loader.ErrUnreachable, "timed out")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is not the context's: %v", err)
	}
}

func TestTarget_rejectsOtherClients(t *testing.T) {
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	lib := bundle("shop", "1.0.0", "buy")
	for name, err := range map[string]error{
		"a *redis.Ring is not a target; pass a": second(loader.Ensure(t.Context(), ring, lib)),
		"a *redis.Pipeline is not a target":     second(loader.Ensure(t.Context(), cluster.Pipeline(), lib)),
		"a <nil> is not a target":               second(loader.Ensure(t.Context(), nil, lib)),
	} {
		says(t, err, loader.ErrUnsupported, name)
	}
}

func second[T any](_ T, err error) error { return err }

func TestPermission_errorNamesMissingPermission(t *testing.T) {
	onOwnServers(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		as := func(name string, rules ...any) *redis.Client {
			args := append([]any{"ACL", "SETUSER", name, "reset", "on", ">secret"}, rules...)
			must(t, client.Do(t.Context(), args...).Err())
			t.Cleanup(func() { client.Do(context.Background(), "ACL", "DELUSER", name) })
			return e.Connect(t, func(o *redis.Options) { o.Username, o.Password = name, "secret" })
		}
		lib := bundle("shop", "1.0.0", "buy")
		reader := as("reader", "+@read", "+info", "+function|list")
		state := check(t, reader)
		says(t, state.Problem, loader.ErrNoPermission, "'function|load'", "+function|load")
		equal(t, "readable", true, state.Readable)
		_, err := apply(reader, plan(t, reader, lib), loader.ApplyOptions{})
		says(t, err, loader.ErrNoPermission, "deploy shop_v1 on "+e.Addr)
		_, err = loader.Ensure(t.Context(), reader, lib)
		says(t, err, loader.ErrNoPermission, "ensure shop_v1 on "+e.Addr)

		says(t, check(t, as("stranger", "+@read")).Problem, loader.ErrNoPermission, "'function|list'")
		wrong := e.Connect(t, func(o *redis.Options) { o.Username, o.Password = "reader", "wrong" })
		says(t, check(t, wrong).Problem, loader.ErrNoPermission, "does not know this user")

		// The minimal permissions of a deploy suffice, and still reveal the version. A user with FUNCTION only deploys nothing.
		loading := as("loading", "+function|list", "+function|load")
		p := plan(t, loading, lib)
		if p.Nodes[0].Server.Version == "" || p.Nodes[0].Role != loader.Primary {
			t.Errorf("node is %+v", p.Nodes[0])
		}
		_, err = apply(loading, p, loader.ApplyOptions{})
		says(t, err, loader.ErrNoPermission, "keep the records: NOPERM", "'watch'", "~rlfunc:{deploy*", "+rpush", "rlfunc acl deployer")
		equal(t, "code", "", held(t, client, "shop_v1"))
		deployer := as("deployer", append([]any{"+function|list", "+function|load"}, deployRules()...)...)
		if _, err := apply(deployer, p, loader.ApplyOptions{}); err != nil {
			t.Error(err)
		}
		// Where all is in place a reader's plan is clean.
		equal(t, "action", "same", stands(plan(t, reader, lib).Nodes[0].Steps[0]))
	})
}

func TestMemory_fullServerIsUnchanged(t *testing.T) {
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		older, lib := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
		put(t, client, older.Code)
		p := plan(t, client, lib)
		limit := func(bytes string) {
			must(t, client.ConfigSet(context.Background(), "maxmemory", bytes).Err())
		}
		limit("1")
		t.Cleanup(func() { limit("0") })
		state := check(t, client)
		says(t, state.Problem, loader.ErrOutOfMemory, "maxmemory")
		r, err := apply(client, p, loader.ApplyOptions{})
		says(t, err, loader.ErrOutOfMemory, "the server is over its maxmemory")
		equal(t, "result", (*loader.Result)(nil), r)
		equal(t, "code", older.Code, held(t, client, "shop_v1"))
		_, err = loader.Ensure(t.Context(), client, bundle("other", "1.0.0", "look"))
		says(t, err, loader.ErrOutOfMemory, "ensure other_v1 on "+e.Addr)
	})
}

func TestReplica_refusesDeploy(t *testing.T) {
	onOwnServers(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		lib := bundle("shop", "1.0.0", "buy")
		must(t, client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
		t.Cleanup(func() { client.ReplicaOf(context.Background(), "NO", "ONE") })
		state := check(t, client)
		equal(t, "role", loader.Replica, state.Role)
		says(t, state.Problem, loader.ErrReadOnly, "replica of 127.0.0.1:1")
		_, err := loader.Ensure(t.Context(), client, lib)
		says(t, err, loader.ErrReadOnly, "ensure shop_v1 on "+e.Addr)
	})
}

func TestCheck_warnsAboutClusterNode(t *testing.T) {
	s := newFakeServer(t, answers("redis_version:7.2.0\r\nrole:master\r\ncluster_enabled:1\r\n", nil))
	state := check(t, impatient(t, s.addr))
	if len(state.Warnings) != 1 || state.Warnings[0].ID != "cluster_node" || !strings.Contains(state.Warnings[0].Text, "other primaries") {
		t.Errorf("warnings are %+v", state.Warnings)
	}
	if state.Problem != nil {
		t.Errorf("problem: %v", state.Problem)
	}
}
