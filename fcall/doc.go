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
// by then is ErrOutcomeUnknown, and one that had no connection yet is never sent. Over a redis.Client with
// Options.ContextTimeoutEnabled a deadline costs nothing, and its connection is free again at once; over every other Caller,
// and for a cancel, a goroutine waits for go-redis. The Exec of a pipeline is go-redis' own: set ContextTimeoutEnabled for it.
package fcall
