// Package luatest runs step tables through a generated client, on virtual time, on the embedded engine and on real
// servers by the same code.
//
// A [Suite] says which library is tested and where; [Suite.Run] runs a table:
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
// On the embedded engine the library is the one that ships, and the server's clock is the test's. A real server's clock
// can not be moved: there the library is generated anew with clock.lua of this package in place of lib/clock.lua, and
// time is what the test told it. Nothing sleeps, and nothing expires in between.
//
// After each step every key has an expiry, and a step that does not say Writes has left every key, every byte and every
// expiry as it was.
package luatest
