// Package guard turns a request into one decision: allowed or refused, why, and for how long.
//
// A [policy.Policy] names a service's endpoints and what holds for each: limits of a subject, global limits,
// money budgets, blocks after too many attempts, one-time challenges. [Guard.Decide] asks Redis about all of it in one round
// trip. On one server that is one atomic call, all or nothing; on a cluster there is one for each subject, in one pipeline,
// and a refusal by one gives back what the others took.
//
// A request goes one way: Decide finds its plan (internal/plan), looks whether it is refused already (internal/denied), asks Redis
// (internal/ask) or decides without it (internal/fallback), and answers.
//
// # When Redis does not answer
//
// A decision takes at most the policy's timeout, 50 ms by default, whatever the client is busy with: dialling, waiting for a
// connection, reading. Then each limit's failure contract decides: [policy.Local] counts the request in this process, against a share of
// the limit, with the same Lua in the embedded engine; [policy.Open] lets it pass; [policy.Closed] refuses it with an
// [UnavailableError]. Once half of the calls of the last second to a node were lost, a circuit breaker answers so without waiting, and tries that node
// again from time to time. Errors of a server that decides about others follow the contract and open no breaker. A Guard starts
// without Redis and heals by itself.
//
// # Refusals that cost nothing
//
// A subject that was refused is remembered in the process until its retry_after, and for [Options.DenyFor] at most: that long
// after an operator lifted a block another process may still refuse. A request that was refused and not cached is judged anew.
//
// # Errors
//
// A refusal is no error: see [Decision.Allowed]. Errors are [*UnavailableError] (a closed limit and no Redis), what package fcall says of
// arguments ([fcall.ErrArgument]), unreadable state ([fcall.ErrState]) and unreadable replies ([fcall.ErrReply]), [ErrEndpoint],
// and the context's own.
package guard
