// Package fcall is what a generated client runs on: it builds keys and arguments, sends one FCALL, decides what a failure
// proves, and decodes the flat reply.
//
// A call that may have run is never sent again. When the outcome proves that nothing ran, the call is sent again a few
// times; otherwise the caller gets ErrOutcomeUnknown and decides.
//
// A call that finds the library absent loads it, on the node that serves its key, and is sent once more: after a restart
// without persistence, on a replica that was promoted before it had it, where a slot moved to a node without it. Nothing
// is ever replaced. Options.NoHeal turns that off, and Client.Stats counts it.
//
// On a server without Functions the same Lua runs as scripts: see Mode.
//
// A call ends with its context, although go-redis waits for as long as its own timeouts are: a call whose reply has not come
// by then is ErrOutcomeUnknown, and one that was not sent yet never is. No call starts a goroutine of its own:
//
//   - Its caller sends a call whose context has no end. Over a client with ContextTimeoutEnabled, its caller also sends a call with a deadline
//     within 100 ms: a cancel before that deadline goes unnoticed until then.
//   - Resident goroutines send all others. They start when they are needed, end after a second without a call, and belong to no Client: nothing
//     needs to be closed. Hooks of go-redis run in them. A hook that panics there fails the calls of that round trip.
//
// Over a *redis.Client and a *redis.ClusterClient, calls share round trips while more than 4 are under way to a node, also with the calls of
// other Clients over the same one. A hook sees such calls in its ProcessPipelineHook, with the context values of the first. Options.NoSharing
// turns that off. The Exec of a pipeline is go-redis' own: set ContextTimeoutEnabled for it.
package fcall
