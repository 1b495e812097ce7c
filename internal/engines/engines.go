// Package engines finds and starts the servers that the test suites run on: the embedded engine, Redis and Valkey in
// containers, and redis-server and valkey-server on PATH.
//
// A package whose tests use it has
//
//	func TestMain(m *testing.M) { engines.Main(m) }
//
// and its tests loop over [Ends], or over [All] where servers of different versions may differ. A server is started when the first
// test asks for it, shared by the tests of the process, and ended with the process, or left to the next one (RLFUNC_ENGINE_POOL).
//
// Environment:
//
//	RLFUNC_ENGINES          patterns of engine names, separated by commas: only these are used. "all" is every engine. By default tests run on
//	                        the embedded engine and the first real server that is found.
//	RLFUNC_REQUIRE_ENGINES  names, separated by commas: a test fails if one of them is not reached
//	RLFUNC_ENGINE_REPORT    1: each process prints what ran and what did not, for .ci/test
//	RLFUNC_ENGINE_POOL      a folder: processes hand containers on, and its owner removes those with the label rlfunc.engines
//
// Tests of deploys to many nodes start clusters, sentinels and replicas of their own, with [OnPath] and [Images]; those are required where
// RLFUNC_REQUIRE_ENGINES names any real engine, and the image's.
//
// Images are never pulled here: make images puts them in place.
package engines

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// Engine is a running server. It is a handle: copies mean the same server.
type Engine struct {
	Name    string // "embedded", "redis-7.0", "redis-8.0", "valkey-8", "redis-8", "valkey-9", "path-redis-server-7.0.15"
	Version string // what the server says it is: "Redis 7.0.15", "Valkey 8.1.1"
	Real    bool   // false for the embedded engine
	Addr    string // host:port, or the path of a unix socket
	URL     string // for --redis

	Embedded *embedded.Server      // the embedded engine itself, for calls without a connection; nil for the others
	Clock    *embedded.ManualClock // its clock, at [Start] when a test gets its client; nil for the others

	slot   *slot
	server *server
}

// All returns the engines that can be reached, the embedded one first. Those that cannot be are named in the report
// and in the log of the first test, with the reason; one that RLFUNC_REQUIRE_ENGINES names fails the test.
func All(t testing.TB) []Engine {
	t.Helper()
	return reached(t, func(*slot) bool { return true })
}

// Ends is [All] without the servers between the oldest and the newest ones, unless RLFUNC_ENGINES names them.
func Ends(t testing.TB) []Engine {
	t.Helper()
	return reached(t, func(s *slot) bool { return !s.between || matches(names("RLFUNC_ENGINES"), s.name) })
}

func reached(t testing.TB, wanted func(*slot) bool) []Engine {
	t.Helper()
	if !process.hasMain.Load() {
		t.Fatal("engines: this package needs func TestMain(m *testing.M) { engines.Main(m) }, which ends the servers")
	}
	var all []Engine
	for _, s := range reach(t, wanted) {
		if s.server == nil {
			if s.required {
				t.Errorf("engines: %s is required and was not reached: %s", s.name, s.reason)
			} else {
				s.said.Do(func() { t.Logf("engines: %s is not used: %s", s.name, s.reason) })
			}
			continue
		}
		all = append(all, engineOf(s, s.server))
	}
	return all
}

// Real is [Ends] without the embedded engine.
func Real(t testing.TB) []Engine {
	t.Helper()
	return slices.DeleteFunc(Ends(t), func(e Engine) bool { return !e.Real })
}

// AllReal is [All] without the embedded engine.
func AllReal(t testing.TB) []Engine {
	t.Helper()
	return slices.DeleteFunc(All(t), func(e Engine) bool { return !e.Real })
}

func engineOf(s *slot, srv *server) Engine {
	return Engine{
		Name: s.name, Version: srv.version, Real: s.real, Addr: srv.options.Addr, URL: srv.url,
		Embedded: srv.embedded, Clock: srv.clock,
		slot: s, server: srv,
	}
}

// Client returns a client of the engine after removing its keys and its functions, and again removes them when the
// test ends. A server is one test's at a time: Client waits until no other test has a client, other than a parent of
// this one. A parallel test that holds several engines takes them in the order of [All].
func (e Engine) Client(t testing.TB) *redis.Client {
	t.Helper()
	e.server.hold(t)
	e.slot.used(t)
	c := redis.NewClient(e.server.clientOptions())
	t.Cleanup(func() { c.Close() })
	if e.Clock != nil {
		e.Clock.Set(Start)
	}
	if err := e.server.wipe(t.Context(), c); err != nil {
		t.Fatalf("engines: %s: %v%s", e.Name, err, e.server.lastWords())
	}
	t.Cleanup(e.server.leaveEmpty)
	return c
}

// Connect returns one more client of the engine and leaves its data alone. The options are those of the engine's
// address after change, which may be nil.
func (e Engine) Connect(t testing.TB, change func(*redis.Options)) *redis.Client {
	t.Helper()
	o := e.server.clientOptions()
	if change != nil {
		change(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// Own starts a second server of the same kind for one test, which may break it: stop it, fill it, reconfigure it. The
// arguments are appended to the server's command line ("--maxmemory", "2mb"). It ends with the test.
func (e Engine) Own(t testing.TB, args ...string) Engine {
	t.Helper()
	srv, err := e.slot.start(t.Context(), args)
	if err != nil {
		t.Fatalf("engines: start a second %s: %v", e.Name, err)
	}
	srv.end = track(srv.end)
	t.Cleanup(srv.end)
	return engineOf(e.slot, srv)
}

// Stop ends a server that [Engine.Own] started, as a crash would: at once, without saving.
func (e Engine) Stop() { e.server.end() }
