// Package embedded is Redis with Functions inside the process, for tests, demos, replays and as a local fallback.
//
// A [Server] loads libraries with FUNCTION LOAD and runs them with FCALL, as a real server does, on keys in memory:
//
//   - [Server.Process] runs a go-redis command without a connection, which is fastest.
//   - [Server.Client] returns a go-redis client over connections in memory, with pipelines and transactions.
//   - [Server.Listen] serves redis-cli and other clients on a port or a unix socket.
//
// Each command, FCALL and EXEC is atomic against all others, whichever way it arrives.
//
// # In tests
//
// Code that takes a *redis.Client needs no change, and no server or container has to run:
//
//	func TestHandler(t *testing.T) {
//		server := embedded.RunT(t)
//		client := server.Client() // or a client of your own, of server.Addr()
//		...
//		server.Advance(time.Minute) // keys expire, and no test sleeps
//	}
//
// Time is the server's [Clock]. With a [ManualClock], TIME and every expiry change only when the test moves the clock.
//
// # Stricter than Redis
//
// A function that uses a key that is not among the keys of its call gets an error that begins with RLUNDECLARED, unless
// [Options] UndeclaredKeys permits it.
//
// # Limits
//
//   - No SUBSCRIBE and no client tracking, so the server never pushes, and PUBLISH reaches nobody. No command waits: no BLPOP and its
//     like, and no XREAD with BLOCK.
//   - Strings, lists, hashes, sets, sorted sets, and streams without consumer groups. No bits, HyperLogLogs or positions, no ZUNION and
//     its like, no SORT, no modules, and no COPY, DUMP and RESTORE.
//   - No EVAL. No coroutines, load, loadstring, os and redis.setresp in functions.
//   - No replication, persistence, cluster or ACLs.
//   - Over maxmemory a write is refused. With the maxmemory-policy allkeys-lru the least recently used keys are evicted before a
//     command. Used memory is an estimate of the heap.
//   - A function that runs for longer than busy-reply-threshold, in real time, makes other clients get BUSY. FUNCTION KILL stops one that
//     has not written, at any time.
//   - Time stands still within a function, as in Redis from 7.2 on (in 7.0 TIME moves).
//   - Replies that Redis gives in the random order of a hash table have a different order.
package embedded
