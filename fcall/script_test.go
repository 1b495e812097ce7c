package fcall_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// withoutFunctions are the arguments of a server without functions, as before Redis 7.0.
var withoutFunctions = []string{"--rename-command", "FCALL", "", "--rename-command", "FCALL_RO", "", "--rename-command", "EVALSHA_RO", "", "--rename-command", "EVAL_RO", ""}

// Each function of each library becomes a script that a server compiles and that calls the function. The script omits unused code.
func TestScript_ofEveryFunction(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	rdb := admin(t, addr)
	registration := regexp.MustCompile(`(?m)^redis\.register_function\{function_name = '(\w+)'.*?(flags = \{'no-writes'\})?\}$`)
	for _, lib := range []*fcall.Library{ratelimit.Library, cost.Library, abuse.Library, challenge.Library, override.Library} {
		c, err := fcall.NewClient(rdb, lib, fcall.Options{Mode: fcall.ModeScripts})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range registration.FindAllStringSubmatch(lib.Code, -1) {
			fn := &fcall.Function{Library: lib, Name: strings.TrimPrefix(m[1], lib.ServerName+"_"), ServerName: m[1], ReadOnly: m[2] != ""}
			_, err := c.Call(t.Context(), fn, nil, nil)
			if !strings.HasPrefix(fmt.Sprint(err), lib.Name+"."+fn.Name+": "+fn.Name+" must be called with") {
				t.Errorf("%s: %v", m[1], err)
			}
			text := fcall.ScriptOf(fn)
			if n := strings.Count(text, "\nrlfunc_register{"); n != 1 {
				t.Errorf("%s: %d functions are in the script, want 1", m[1], n)
			}
			if was, is := strings.Count(lib.Code, "\n"), strings.Count(text, "\n"); is > was+1 {
				t.Errorf("%s: %d lines became %d", m[1], was, is)
			}
		}
	}
	if stats := rdb.Info(context.Background(), "commandstats").Val(); strings.Contains(stats, "cmdstat_fcall") {
		t.Error("functions were called")
	}
}

func TestScript_replacesFunctionsOnOldServers(t *testing.T) {
	t.Parallel()
	plain, clustered := startRedis(t, withoutFunctions...), startCluster(t, withoutFunctions...)
	const state = "fcalltest/crash.lua:104: attempt to index local 'none' (a nil value) (outcome unknown, it may have written)"
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			addr := plain
			if w.isCluster() {
				addr = clustered
			}
			rdb := admin(t, addr)
			if err := rdb.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			caller := w.open(t, addr)
			c := newClient(t, direct(caller), fcall.Options{})
			_, queues := caller.(*piped)
			if queues { // the first one finds out
				if _, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k"); kinds(err) != "ErrUnavailable ErrUnsupported" {
					t.Errorf("the first pipeline: %v", err)
				}
			}
			for i := range int64(3) {
				if i == 2 { // as a restart
					if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					if queues {
						if _, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k"); kinds(err) != "ErrUnavailable" {
							t.Errorf("the pipeline after a flush: %v", err)
						}
					}
				}
				if n, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k"); n != i+1 || err != nil {
					t.Errorf("%d, %v, want %d", n, err, i+1)
				}
			}
			if !queues {
				if n, err := callOnce(t.Context(), c, caller, countFunction("look"), "k"); n != 3 || err != nil {
					t.Errorf("look: %d, %v, want 3", n, err)
				}
			}
			_, err := callOnce(t.Context(), c, caller, countFunction("crash"), "k")
			if diff := cmp.Diff("fcalltest.crash: "+state, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if n := c.Stats().NotLoaded; n != 0 {
				t.Errorf("%d calls found no library", n)
			}
		})
	}
}

// withoutLoads are the arguments of a server that has FCALL and refuses FUNCTION, as some managed ones do.
var withoutLoads = []string{"--rename-command", "FUNCTION", ""}

func TestScript_replacesFunctionsThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	plain, clustered := startRedis(t, withoutLoads...), startCluster(t, withoutLoads...)
	for _, w := range ways {
		for name, o := range map[string]fcall.Options{
			"auto-load": {}, "no auto-load": {NoAutoLoad: true},
			"functions only": {Mode: fcall.ModeFunctions},
		} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				addr := plain
				if w.isCluster() {
					addr = clustered
				}
				caller := w.open(t, addr)
				c, key := newClient(t, direct(caller), o), t.Name()
				call := func(function string) (int64, error) {
					return callOnce(t.Context(), c, caller, countFunction(function), key)
				}
				_, queues := caller.(*piped)
				if queues || o.Mode == fcall.ModeFunctions { // the first one finds out
					_, err := call("hit")
					want := "fcalltest.hit: nothing ran; the server refuses FUNCTION, so it can hold no library; ModeAuto and ModeScripts run the same Lua as scripts"
					if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || kinds(err) != "ErrUnavailable ErrUnsupported" {
						t.Errorf("%s (-want +got)\n%s", kinds(err), diff)
					}
				}
				if o.Mode == fcall.ModeFunctions {
					return
				}
				for want := range int64(3) {
					if n, err := call("hit"); n != want+1 || err != nil {
						t.Errorf("%d, %v, want %d", n, err, want+1)
					}
				}
				if n, err := call("look"); !queues && (n != 3 || err != nil) {
					t.Errorf("look: %d, %v, want 3", n, err)
				}
			})
		}
	}
}

// Many callers that find out together all run scripts.
func TestScript_replacesFunctionsForManyCallers(t *testing.T) {
	t.Parallel()
	rdb := admin(t, startRedis(t, withoutLoads...))
	c := newClient(t, rdb, fcall.Options{})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 5 {
				if _, err := hit(c, "k"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := rdb.Get(t.Context(), "k").Val(); n != "320" {
		t.Errorf("320 calls ran %s times", n)
	}
}

// A user who may not run the scripts is told which permissions they need.
func TestScript_permissionsOfScripts(t *testing.T) {
	rdb := admin(t, startRedis(t, withoutLoads...))
	if err := rdb.Do(t.Context(), "ACL", "SETUSER", "service", "on", ">pw", "~*", "+@all", "-@scripting", "+fcall").Err(); err != nil {
		t.Fatal(err)
	}
	user := redis.NewClient(&redis.Options{Addr: rdb.Options().Addr, Username: "service", Password: "pw"})
	defer user.Close()
	_, err := hit(newClient(t, user, fcall.Options{}), "k")
	const want = "the Lua runs as a script here, for which the user needs more: see `rlfunc acl service --scripts`"
	if kinds(err) != "ErrUnavailable ErrNoPermission" || !strings.HasSuffix(fmt.Sprint(err), want) {
		t.Errorf("error is %v", err)
	}
}

func TestScript_modeFunctionsNeverRunsScripts(t *testing.T) {
	rdb := admin(t, startRedis(t, withoutFunctions...))
	c := newClient(t, rdb, fcall.Options{Mode: fcall.ModeFunctions})
	if _, err := hit(c, "k"); kinds(err) != "ErrUnavailable ErrUnsupported" {
		t.Errorf("error is %v", err)
	}
	if _, err := fcall.NewClient(rdb, countLibrary, fcall.Options{Mode: 7}); err == nil {
		t.Error("Mode 7 is taken")
	}
}

// A read-only script is sent with EVALSHA_RO if the server has it, and so also to replicas.
func TestScript_readOnlyUsesRO(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: startRedis(t)})
	defer rdb.Close()
	c := newClient(t, rdb, fcall.Options{Mode: fcall.ModeScripts})
	for range 2 {
		if _, err := c.Call(t.Context(), countFunction("look"), []string{"k"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	stats := rdb.Info(t.Context(), "commandstats").Val()
	for _, verb := range []string{"eval_ro", "evalsha_ro"} {
		if !strings.Contains(stats, "cmdstat_"+verb+":") {
			t.Errorf("no %s was sent", verb)
		}
	}
}

// After a while one call tries functions again, because the server may have been upgraded or a proxy may have changed it.
func TestScript_retriesFunctionsLater(t *testing.T) {
	const ok, unknown = "*1\r\n:1\r\n", "-ERR unknown command 'FCALL'\r\n"
	for _, w := range ways {
		if w.name == "transaction" {
			continue // which the fake server does not know
		}
		t.Run(w.name, func(t *testing.T) {
			server := newFakeServer(t, ok)
			server.functions = true
			caller := w.open(t, server.addr)
			c := newClient(t, direct(caller), fcall.Options{})
			var clock time.Duration
			fcall.SetClock(c, func() time.Time { return time.Unix(1, 0).Add(clock) })
			call := func() {
				t.Helper()
				_, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k")
				if _, queues := caller.(*piped); queues && kinds(err) == "ErrUnavailable ErrUnsupported" {
					_, err = callOnce(t.Context(), c, caller, countFunction("hit"), "k")
				}
				if err != nil {
					t.Error(err)
				}
			}
			served := func(want ...string) {
				t.Helper()
				if diff := cmp.Diff(want, server.said()); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			call()
			served("FCALL")
			server.answer(unknown)
			call()
			call()
			clock = 11 * time.Second
			call() // it tries again
			call()
			scripts := []string{"FCALL", "EVALSHA", "EVALSHA", "FCALL", "EVALSHA", "EVALSHA"}
			if _, queues := caller.(*piped); queues {
				scripts = []string{"FCALL", "EVAL", "EVALSHA", "FCALL", "EVALSHA", "EVALSHA"}
			}
			served(scripts...)
			server.answer(ok)
			call()
			clock = 22 * time.Second
			call()
			call()
			served("EVALSHA", "FCALL", "FCALL")
		})
	}
}

// Support of functions is cached per node: a node without them does not affect the others.
func TestScript_affectsOnlyNodesWithoutFunctions(t *testing.T) {
	const ok, unknown = "*1\r\n:1\r\n", "-ERR unknown command 'FCALL'\r\n"
	older, newer := newFakeServer(t, unknown), newFakeServer(t, ok)
	older.functions, newer.functions = true, true
	halves := func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{
			{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: older.addr}}},
			{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: newer.addr}}},
		}, nil
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: halves})
	defer rdb.Close()
	c := newClient(t, rdb, fcall.Options{})
	for range 2 {
		for _, key := range []string{"bar", "foo"} { // slots 5061 and 12182
			if _, err := hit(c, key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff([]string{"FCALL", "EVALSHA", "EVALSHA"}, older.said()); diff != "" {
		t.Errorf("the older node (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"FCALL", "FCALL"}, newer.said()); diff != "" {
		t.Errorf("the newer node (-want +got)\n%s", diff)
	}
}
