// Package identity reads who sent a request.
//
// A [Config] is one named identity with one source: the client's address, a header, a cookie, a query parameter, a path
// value, a fingerprint, a JWT claim, a client certificate, or the service's own code. A [Reader] reads all of them from a
// request, as subjects: user=42, ip=203.0.113.7, ip=2001:db8::/64. Subjects are bounded and safe to print, see [Value].
//
// A verified identity is one that a client cannot choose: the address, a JWT, a certificate, the service's own code, or a
// value that a [Verifier] accepts. All others are claimed. [Config.Verified] reports which one a Config is.
//
// A header that comes twice, or once more empty, never removes an identity. Of a claimed source the first value counts, and
// [Found.Also] holds the others, so that a deny rule sees each of them. Two values of one source that both verify are
// [ErrAmbiguous]. X-Forwarded-For and Forwarded (RFC 7239) count from trusted proxies only.
//
// gRPC calls are read as HTTP requests that hold the metadata as headers, the peer's address and the TLS state.
package identity
