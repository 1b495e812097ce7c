// Package identity tells who an HTTP request is.
//
// An [Identifier] asks its sources in order; the first that a request has names its subject, as text: fp=<stable hash> of
// a fingerprint, key=<hash> of an API key, ip=<address or prefix> of the client. A value that is too long, or has bytes
// that would spoil a log, is folded into a hash: two values never become one by being cut.
//
// What a client sends is believed only as far as it can be: X-Forwarded-For and Forwarded (RFC 7239) from trusted proxies,
// a fingerprint when its [Verifier] says so. Nothing here talks to Redis.
package identity
