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
//		take := luatest.Call((*ratelimit.Client).GCRA, ratelimit.GCRAParams{Bucket: "u1", Limit: 1, Period: time.Second})
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
// The file name of a test of this package begins with its kind, or else with the function that its steps call:
//
//   - property_, linearizable: functions against their models
//   - parity_: the embedded engine against real servers
//   - wire_, arguments_, fuzz_: what crosses the wire, legal and illegal
//   - scenario_, mistakes_, *_mistakes: mistakes of other rate limiters
//
// # Proofs by model
//
// The limiters of this project are also held against models in plain Go (package model). The tests of this package draw
// histories of calls and moves of the clock, ask the model, and play each history on every engine:
//
//   - TestProperty: every field of every reply, each key's presence and the millisecond in which it expires, and every byte
//     where nothing may change are as the model says; an invariant that knows no model holds; one tick before its
//     retry_after a refused call is refused again, and at it passes.
//   - TestLinearizable: what concurrent callers are answered, while the clock goes on, is what the model answers in some order.
//   - TestArguments: each argument of each function, outside its bounds and past the client, gives RLARG and its name.
//   - FuzzArguments, FuzzState: raw arguments and unreadable keys give RLARG, RLSTATE or a reply that the client decodes.
//
// go test tries some hundred histories; make soak goes on for RLFUNC_SOAK, a duration in all or a number of histories
// each, and prints how much was checked. A failure prints the shortest history that was found, and how to run it again.
//
// To add functions that share a state:
//
//  1. Write their model in model/NAME.go, from the specification and the headers, not from the Lua: Move, Clone, Expiries
//     (by key suffix, in unix milliseconds), and one method for each function, which also reports whether a key may have
//     changed. Give its results the field names and types of the generated ones: they convert. Methods never change
//     stored values in place, so that Clone is cheap.
//  2. Write a family in property_NAME_test.go, as property_sliding_log_test.go has it: its keys (suffix and type), how the
//     limits of a history and then its calls are drawn, for each function a call that joins the generated Queue method
//     (by queued) to the model's, and perhaps an invariant. An answer says what the model knows: the reply or the error,
//     changed, and of a refused call retry and tick, which are then probed.
//  3. Add the family to families in property_test.go, and a legal call of each function to wireCalls in wire_test.go: a
//     function without one fails a test.
package luatest
