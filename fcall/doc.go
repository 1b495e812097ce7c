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
// go-redis does not bound a socket read by the context's deadline unless Options.ContextTimeoutEnabled is set, and a
// cancel never interrupts a call in flight: with the default options a call can take as long as ReadTimeout although its
// context is done. A context that is done before the call is sent stops it.
package fcall
