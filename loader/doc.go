// Package loader deploys libraries of Redis Functions to servers, on a standalone server, Sentinel or Redis Cluster.
//
// A [Target] is the place of a deploy:
//
//	address, err := loader.ParseURL("redis+cluster://10.0.0.1,10.0.0.2")
//	target := address.Open()
//	defer target.Close()
//	plan, err := target.Plan(ctx, ratelimit.Library)               // changes nothing; plan.Same() is the check
//	result, err := target.Apply(ctx, plan, loader.ApplyOptions{})  // loads, then reads back
//
// A service calls [Ensure] when it starts: it loads a missing library and never replaces one.
//
// # Versions
//
// The loader recognises a library by the header of its bundle,
//
//	-- rlfunc: library=ratelimit version=1.0.0
//
// and compares its bytes. It never replaces code without that header, and only a rollback replaces
// a higher version. It uses neither FUNCTION FLUSH, which crashes some servers, nor FUNCTION RESTORE, whose dumps depend on the server's version.
//
// # Operations at once, and records
//
// Whatever two operations do at once, every primary ends on one version, and each is told what became of its own ([Target.Apply]). Of
// three at once that need not hold: plan again when they have ended.
// An operation records its work in database 0: [Target.Releases] has the source of the last releases, which [Target.PlanRollback]
// needs, and [Target.History] has the operations. [Target.PlanRetire] removes a library. [Target.Clients] lists the connected programs
// that say which libraries they use, and [Target.Status] what is wrong.
//
// # Results and errors
//
// Results are data, by node and library; the caller prints them. A failure on one node never hides the outcome on another.
// Every error is an [Error], whose [Reason] errors.Is finds. A Target is safe for concurrent use.
package loader
