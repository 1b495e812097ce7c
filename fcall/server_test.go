package fcall_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// Errors of a real server have the same form over every kind of client.
func TestCall_errorsOfARealServer(t *testing.T) {
	t.Parallel()
	plain, clustered := servers(t)
	steps := []struct{ function, kinds, text string }{
		{"hit", "", "<nil>"},
		{"look", "", "<nil>"},
		{"arg", "ErrArgument", "fcalltest.arg: limit must be a whole number from 1 to 10"},
		{"state", "ErrState", "fcalltest.state: key fcalltest:{some...}:n: holds a list; delete the key to reset it"},
		{"quota", "", "fcalltest.quota: QUOTA is used up"},
		{"crash", "ErrOutcomeUnknown ErrScript", "fcalltest.crash: fcalltest/crash.lua:4: attempt to index local 'none' (a nil value) (outcome unknown, it may have written)"},
		{"wrongtype", "ErrOutcomeUnknown ErrScript", "fcalltest.wrongtype: fcalltest/crash.lua:8: WRONGTYPE Operation against a key holding the wrong kind of value (outcome unknown, it may have written)"},
		{"nested", "ErrReply", `fcalltest.nested: n must be a whole number from -9007199254740992 to 9007199254740992, got the error "RLARG hidden"; the server's library may differ from the one that this client was generated from`},
		{"nothing", "ErrReply", "fcalltest.nothing: the reply must be its results, got nothing; the server's library may differ from the one that this client was generated from"},
		{"absent", "ErrNotLoaded", "fcalltest.absent: fcalltest_v1 is not loaded on this server, and auto-load did not help: ERR Library 'fcalltest_v1' already exists, without the function; a client never replaces a library: run `rlfunc deploy`"},
	}
	for _, w := range ways {
		addr := plain
		if w.isCluster() {
			addr = clustered
		}
		caller := w.open(t, addr)
		c := newClient(t, caller, fcall.Options{})
		for _, s := range steps {
			t.Run(w.name+"/"+s.function, func(t *testing.T) {
				key := fcall.Key("fcalltest", subject, "n")
				rdb := redis.NewClient(&redis.Options{Addr: addr})
				defer rdb.Close()
				if err := rdb.Del(context.Background(), key).Err(); err != nil {
					t.Fatal(err)
				}
				_, err := callOnce(context.Background(), c, caller, countFunction(s.function), key)
				if diff := cmp.Diff(s.text, fmt.Sprint(err)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				if diff := cmp.Diff(s.kinds, kinds(err)); diff != "" {
					t.Errorf("kinds (-want +got)\n%s", diff)
				}
			})
		}
	}
}

// The server says it while the connection is made.
func TestCall_wrongPassword(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: startRedis(t), Username: "default", Password: "x"})
	defer rdb.Close()
	if err := admin(t, rdb.Options().Addr).Do(t.Context(), "ACL", "SETUSER", "default", ">pw").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := hit(newClient(t, rdb, fcall.Options{}), "k")
	if diff := cmp.Diff("ErrUnavailable ErrNoPermission", kinds(err)); diff != "" {
		t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
	}
}

func TestNewClient_rejects(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: noServer})
	defer rdb.Close()
	piped, err := rdb.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	defer piped.Close()
	steps := []struct {
		name   string
		caller fcall.Caller
		lib    *fcall.Library
		o      fcall.Options
		want   string
	}{
		{"no caller", nil, countLibrary, fcall.Options{}, "new client: caller and library must not be nil"},
		{"no library", rdb, nil, fcall.Options{}, "new client: caller and library must not be nil"},
		{"a pipeline", rdb.Pipeline(), countLibrary, fcall.Options{}, "new client of fcalltest: a Pipeliner only queues; pass its client here and the pipeline to Queue"},
		{"an auto-pipeliner of go-redis", piped, countLibrary, fcall.Options{}, "new client of fcalltest: pass the client that made the AutoPipeliner; calls share round trips anyway"},
		{"a namespace with a brace", rdb, countLibrary, fcall.Options{Namespace: "a{b"}, `new client of fcalltest: namespace must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , got "a{b"`},
		{"negative attempts", rdb, countLibrary, fcall.Options{MaxAttempts: -1}, "new client of fcalltest: MaxAttempts must be 0 or more, got -1"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			_, err := fcall.NewClient(s.caller, s.lib, s.o)
			if diff := cmp.Diff(s.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A server that lacks Functions, or refuses to load any, is named as such.
func TestCall_serverWithoutFunctions(t *testing.T) {
	for name, lacks := range map[string][]string{
		"no FCALL":    {"--rename-command", "FCALL", ""},
		"no FUNCTION": {"--rename-command", "FUNCTION", ""},
	} {
		addr := startRedis(t, lacks...)
		for _, w := range ways {
			if w.isCluster() {
				continue
			}
			t.Run(name+"/"+w.name, func(t *testing.T) {
				caller := w.open(t, addr)
				c := newClient(t, caller, fcall.Options{})
				for range 2 {
					_, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k")
					const want = "fcalltest.hit: nothing ran; the server has no Functions: Redis 7 or Valkey is needed"
					if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || kinds(err) != "ErrUnavailable ErrUnsupported" {
						t.Errorf("%s (-want +got)\n%s", kinds(err), diff)
					}
				}
			})
		}
	}
}
