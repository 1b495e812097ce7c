// Package loader brings libraries onto servers and proves that they are there.
//
// A [Target] is where libraries go. [Target.Check] looks at its nodes, [Target.Plan] says what a deploy would do,
// [Target.Apply] does it, and [Target.Verify] compares byte for byte what each node holds. [Ensure] is for services: at their
// start they load what is absent and never replace anything.
//
// Deploys take a lock, and write down in database 0 of the target what they do: [Target.Releases] holds the source of the last releases, so that
// [Target.PlanRollback] can go back, and [Target.History] says who did what. [Target.PlanRetire] removes a library that no client uses any
// longer, and leaves a tombstone that keeps it away; services that want to be seen call [Announce].
//
// Results are data, by node and library; what a person or a pipeline sees of them is the caller's business. An error of one
// node never hides what happened on another.
//
// A library that a server holds is recognised by the line that every bundle has,
//
//	-- rlfunc: library=ratelimit version=1.0.0
//
// and compared by its bytes. Nothing without that line is ever replaced. The loader does not use FUNCTION FLUSH (it crashes some
// servers) and FUNCTION RESTORE (its dumps depend on the server's version), and only a rollback puts a lower version in place of a higher one.
package loader
