// Package luatest tests annotated Lua through its generated client, with tables of steps on virtual time. The same table runs on
// the embedded engine and on real servers.
//
// The folder is called lua_test for its place beside functions/. A Go package name cannot end in _test, so the package is luatest:
//
//	import luatest "github.com/rlfunc/rlfunc/lua_test"
//
// A [Suite] names a library and the engines; [Suite.Run] runs a table:
//
//	var suite = luatest.Suite[*ratelimit.Client]{
//		Library: ratelimit.Library,
//		Client:  ratelimit.New,
//		Source:  functions.FS,
//		Root:    functions.Root,
//	}
//
//	func TestGCRA_oneMore(t *testing.T) {
//		take := luatest.Call((*ratelimit.Client).GCRA, ratelimit.GCRAParams{Subject: "u1", Limit: 1, Period: time.Second})
//		suite.Run(t,
//			step{Call: take, Writes: true, Want: ratelimit.GCRAResult{Allowed: true, ResetAfter: time.Second}},
//			step{Call: take, Want: ratelimit.GCRAResult{RetryAfter: time.Second, ResetAfter: time.Second}},
//			step{Advance: time.Second, Call: take, Writes: true, Want: ratelimit.GCRAResult{Allowed: true, ResetAfter: time.Second}},
//		)
//	}
//
// where step is luatest.Step[*ratelimit.Client].
//
// On the embedded engine the released library runs, and the test moves the server's clock. A real server's clock cannot be moved:
// there the library is generated with clock.lua of this package in place of lib/clock.lua, and the test sets its time. No test
// sleeps, and no key expires between two steps.
//
// After each step every key must have an expiry. A step without Writes must leave every key, byte and expiry unchanged.
//
// # Tests of this project
//
//   - steps: a table of steps for each function, and the mistakes of other rate limiters
//   - property: functions against models in plain Go, and concurrent calls against an order of them
//   - wire: legal and illegal arguments, state and replies, past the generated clients
//   - parity: the embedded engine against real servers
//   - internal/faults: broken servers and networks under traffic
package luatest
