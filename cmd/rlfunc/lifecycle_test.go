package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// traffic calls one major version of the project's library all the time, and counts the calls.
type traffic struct {
	calls, failed atomic.Int64
	asked         [20]atomic.Int64 // by subject
	allowed       [20]atomic.Int64
	stop          context.CancelFunc
	done          sync.WaitGroup
	firstErr      atomic.Value
}

const quotaLimit = 10

// begin starts callers of quota.take. They do not load a missing library: a moment without it fails the test.
func begin(t *testing.T, client redis.UniversalClient, major, namespace string) *traffic {
	t.Helper()
	lib := &fcall.Library{Name: "quota", Version: major + ".0.0", ServerName: "quota_v" + major}
	fn := &fcall.Function{Library: lib, Name: "take", ServerName: lib.ServerName + "_take"}
	c, err := fcall.NewClient(client, lib, fcall.Options{Namespace: namespace, NoAutoLoad: true})
	if err != nil {
		t.Fatal(err)
	}
	tr := &traffic{}
	var ctx context.Context
	ctx, tr.stop = context.WithCancel(t.Context())
	for worker := range 4 {
		tr.done.Go(func() {
			for i := worker; ctx.Err() == nil; i++ {
				subject := i % len(tr.allowed)
				key := fcall.Key(namespace, fcall.Subject(fmt.Sprint("user", subject)), "used")
				reply, err := c.Call(t.Context(), fn, []string{key}, []any{quotaLimit, time.Hour.Microseconds(), 1})
				tr.calls.Add(1)
				tr.asked[subject].Add(1)
				if err != nil {
					tr.failed.Add(1)
					tr.firstErr.CompareAndSwap(nil, err.Error())
					continue
				}
				if reply.Bool("allowed") {
					tr.allowed[subject].Add(1)
				}
				time.Sleep(time.Millisecond) // a steady rate, on whatever machine
			}
		})
	}
	t.Cleanup(tr.stop)
	return tr
}

// end stops the traffic and reports failed and wrong calls.
func (tr *traffic) end(t *testing.T, name string) {
	t.Helper()
	tr.stop()
	tr.done.Wait()
	t.Logf("%s: %d calls, %d failed", name, tr.calls.Load(), tr.failed.Load())
	if tr.failed.Load() > 0 || tr.calls.Load() == 0 {
		t.Errorf("%s: %d of %d calls failed: %v", name, tr.failed.Load(), tr.calls.Load(), tr.firstErr.Load())
	}
	for subject := range tr.allowed {
		want := min(tr.asked[subject].Load(), quotaLimit)
		if n := tr.allowed[subject].Load(); n != want {
			t.Errorf("%s: user%d was admitted %d times, want %d", name, subject, n, want)
		}
	}
}

// edit replaces text in a file of the project.
func edit(t *testing.T, file, old, by string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(text), old) {
		err = errors.New("it does not contain " + old)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), old, by, 1)), 0o644)
	}
	if err != nil {
		t.Fatalf("edit %s: %v", file, err)
	}
}

// The whole lifecycle of a library on a cluster of three primaries with replicas, under constant traffic, without a failed call.
func TestLifecycle_ofALibraryUnderTraffic(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 3, 1)
	client := cluster.Client(t)
	url := "redis+cluster://" + strings.Join(cluster.Addrs()[:3], ",")
	dir := t.TempDir()
	declared, take := filepath.Join(dir, "functions/quota/library.lua"), filepath.Join(dir, "functions/quota/take.lua")

	does := func(want exitCode, said string, args ...string) {
		t.Helper()
		var out strings.Builder
		code := run(append([]string{"-C", dir}, args...), strings.NewReader(""), &out, &out)
		if code != want || !strings.Contains(out.String(), said) {
			t.Fatalf("rlfunc %v: exit %d, want %d and %q:\n%s", args, code, want, said, out.String())
		}
	}
	onCluster := func(want exitCode, said string, args ...string) {
		t.Helper()
		does(want, said, append(args, "--redis", url)...)
	}

	does(exitOK, "", "init", dir)
	onCluster(exitOK, "loaded", "deploy")
	onCluster(exitOK, "", "plan")
	v1 := begin(t, client, "1", "quota")

	// A new version: planned, deployed as planned, verified on all six nodes.
	edit(t, declared, "1.0.0", "1.1.0")
	does(exitOK, "", "generate")
	onCluster(exitFindings, "upgrade 1.0.0 -> 1.1.0", "plan", "--out", filepath.Join(dir, "plan.json"))
	onCluster(exitOK, "upgraded", "deploy", "--plan", filepath.Join(dir, "plan.json"))
	onCluster(exitOK, "1.1.0", "plan")

	edit(t, declared, "1.1.0", "1.2.0")
	// A change that breaks callers is refused in the same major version, and accepted in the next.
	before := t.TempDir()
	must(t, os.CopyFS(before, os.DirFS(dir)))
	edit(t, take, "@arg    limit       count[1..1000000] ", "@arg    limit       count[1..1000]    ")
	does(exitFindings, "limit", "breaking", "--against", before)
	does(exitOK, "", "generate")
	onCluster(exitBreaking, "argument-narrower", "deploy")
	edit(t, declared, "1.2.0", "2.0.0")
	does(exitOK, "", "generate")
	does(exitOK, "", "breaking", "--against", before)
	onCluster(exitOK, "quota_v2", "deploy")
	v2 := begin(t, client, "2", "two")

	// The old major version is rolled back, while both are in use.
	onCluster(exitOK, "1.0.0", "rollback", "quota_v1", "--yes")
	onCluster(exitOK, "quota_v2", "status")

	// The unused major version is retired, and the new one stays.
	v1.end(t, "version 1")
	onCluster(exitOK, "quota_v1", "retire", "quota_v1", "--yes")
	onCluster(exitOK, "", "plan")
	v2.end(t, "version 2")
	for _, addr := range cluster.Addrs() {
		node := redis.NewClient(&redis.Options{Addr: addr})
		libs, err := node.FunctionList(t.Context(), redis.FunctionListQuery{WithCode: true}).Result()
		node.Close()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, l := range libs {
			names = append(names, l.Name)
		}
		if !slices.Equal(names, []string{"quota_v2"}) {
			t.Errorf("%s holds %v, want quota_v2", addr, names)
		}
	}
}

// A function is missing with its whole library, because the server has an earlier version, or because the library was retired.
func TestCall_reportsAMissingLibraryOrFunction(t *testing.T) {
	older := strings.NewReplacer("version=1.0.0", "version=0.9.0", "function_name = 'ratelimit_v1_gcra'", "function_name = 'ratelimit_v1_other'").
		Replace(ratelimit.Library.Code)
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		for _, step := range []struct {
			want string
			next func() error
		}{
			{"ratelimit_v1 is not loaded on this server", func() error { return rdb.FunctionLoadReplace(t.Context(), older).Err() }},
			{"or in a version without this function", func() error {
				if code, said := rlfunc("retire", "ratelimit_v1", "--yes", "--redis", e.URL); code != exitOK {
					return errors.New(said)
				}
				return nil
			}},
			{"ratelimit_v1 is not loaded on this server", func() error { return nil }},
		} {
			for _, command := range []string{"call", "call -n 2"} {
				ran(t, exitError, command+" ratelimit.gcra subject=u1 limit=1 period=1m --redis "+e.URL, step.want)
			}
			must(t, step.next())
		}
	})
}
