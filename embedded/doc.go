// Package embedded is Redis with Functions inside the process: for tests, demos, replays and as a local fallback.
//
// A [Server] loads libraries with FUNCTION LOAD and runs them with FCALL as a real server does, over keys that it holds in
// memory. [Server.Process] takes go-redis commands without any connection and is the fast way; [Server.Client] gives a go-redis client over
// in-memory connections, with pipelines and transactions; [Server.Listen] opens a real port or unix socket to redis-cli and others.
// Each command, each FCALL and each EXEC is atomic against all others, however they arrive.
//
// Time is the server's [Clock]: with a [ManualClock], TIME and every expiry move only when the test says so.
//
// # Stricter than Redis
//
// A function that touches a key which was not among the keys of its call gets an error that begins with RLUNDECLARED.
//
// # Limits
//
//   - RESP2 only: HELLO 3 is refused with NOPROTO, which clients answer by going on in RESP2.
//   - Strings, lists, hashes, sets and sorted sets. No streams, HyperLogLogs, geo, bit fields, blocking commands, Pub/Sub or modules.
//   - No EVAL: functions only.
//   - No replication, no persistence, no cluster, no ACLs. Over maxmemory a write is refused, or with the maxmemory-policy allkeys-lru the
//     keys that were used least recently are evicted before a command. Used memory is an estimate of this process's heap.
//   - While a function runs too long, others wait: there is no BUSY. FUNCTION KILL stops it, unless it has written.
//   - Time stands still within a function, as in Redis from 7.2 on (in 7.0 TIME moves).
//   - Replies that Redis gives in the random order of a hash table come in an order of our own here.
package embedded
