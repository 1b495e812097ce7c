// Package loader deploys libraries of Redis Functions to servers and verifies them, on a standalone server, Sentinel, Redis
// Cluster or a ring.
//
// A [Target] is the place of a deploy:
//
//	target, err := loader.Open("redis+cluster://10.0.0.1,10.0.0.2")
//	defer target.Close()
//	plan, err := target.Plan(ctx, ratelimit.Library)               // changes nothing
//	result, err := target.Apply(ctx, plan, loader.ApplyOptions{})  // loads, then reads back
//	verified, err := target.Verify(ctx, ratelimit.Library)         // compares byte for byte
//
// A service calls [Ensure] when it starts: it loads a missing library and never replaces one.
//
// # Versions
//
// The loader recognises a library by the header of its bundle,
//
//	-- rlfunc: library=ratelimit version=1.0.0
//
// and compares its bytes. The header also says which servers the library requires (requires=redis-7.4,valkey-9.0): on others
// every operation that would load it reports ErrTooOld. It never replaces code without that header, and only a rollback replaces
// a higher version. It uses neither FUNCTION FLUSH, which crashes some servers, nor FUNCTION RESTORE, whose dumps depend on the server's version.
//
// # Locks and records
//
// A deploy holds a lock on the target and on each primary. It records its work in database 0: [Target.Releases] has the source
// of the last releases, which [Target.PlanRollback] needs, and [Target.History] has the operations. [Target.PlanRetire] removes a
// library and leaves a tombstone, so that clients do not load it again. Services that call [Announce] are listed as its clients.
//
// # Results and errors
//
// Results are data, by node and library; the caller prints them. A failure on one node never hides the outcome on another.
// Every error is an [Error], whose [Reason] errors.Is finds. A Target is safe for concurrent use.
package loader
