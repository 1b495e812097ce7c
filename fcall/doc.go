// Package fcall runs the calls of generated clients: it builds keys and arguments, sends one FCALL, decodes the reply, and
// says what a failed call proves.
//
// A generated client wraps a [Client]. Code without a generated client describes its library and calls it directly:
//
//	client, err := fcall.NewClient(rdb, library, fcall.Options{})
//	call := client.Args(add, 1, 1) // one key, one argument
//	call.Key("user-7", "count")
//	call.Int(3)
//	reply, err := call.Call(ctx)
//	total := reply.Int("total")
//	err = reply.Err()
//
// # Errors
//
// Each error says what it proves, by errors.Is. [ErrArgument], [ErrState], [ErrNotLoaded] and [ErrUnavailable] prove that
// nothing was written. [ErrOutcomeUnknown] means that the call may have run. The client sends a call again only if the failure
// proves that nothing was written, at most Options.MaxAttempts times.
//
// # Auto-load
//
// A call that finds its library missing loads it on the node that serves its key, and is sent once more. That happens after a
// restart without persistence, after a failover to a replica that lacks the library, and after a hash slot migrates. A load
// never replaces a library. Options.NoAutoLoad turns this off; Client.Stats counts it.
//
// # Concurrency and deadlines
//
// A Client is safe for concurrent use. A call ends with its context, even if go-redis would wait longer. A call without a reply
// by then is ErrOutcomeUnknown, unless it was certainly not sent.
//
// Over a *redis.Client, a *redis.ClusterClient and an adapter, a Client's calls share round trips while more than 4 are in flight to
// a node. Hooks see them in ProcessPipelineHook, with the context values of the first call. Options.NoSharing turns that off.
//
// The calling goroutine sends a call, and those that wait with it, if the client has ContextTimeoutEnabled or the call's context never
// ends. Then it is as with go-redis: cancelling the context has no effect until its deadline or the client's ReadTimeout, and a call without
// a reply by then closes its connection. Otherwise a goroutine sends, which costs a lone caller more time, and the connection is kept. A Client
// needs no Close. A hook that panics fails the calls of its round trip.
package fcall
