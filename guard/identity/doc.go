// Package identity identifies the client of an HTTP request or gRPC call, for package guard.
//
//	reader, err := identity.New(map[string]identity.Identity{
//		"ip":   {TrustedProxies: []string{"10.0.0.0/8"}},
//		"user": {JWT: &identity.JWT{Keys: "https://id.example/jwks.json"}},
//	}, identity.Code{}, identity.Options{})
//	...
//	defer reader.Close()
//	found, err := reader.Read(request, request.PathValue)
//	// found.Subjects is [ip=203.0.113.7 user=42].
//
// # Concepts
//
// An [Identity] has a name and one source: the client's address, a header, a cookie, a query parameter, a path
// value, a fingerprint, a JWT claim, a client certificate, or the service's own code. A [Reader] reads all identities of a
// request as subjects: user=42, ip=203.0.113.7, ip=2001:db8::/64. Subjects are bounded and safe to print, see [Value].
//
// A verified identity is one whose value clients cannot choose: the address, a JWT, a certificate, the service's own code, or
// a value that a [Verifier] accepts. All others are claimed.
//
// An empty header never removes an identity, and neither does a value that does not verify. Services differ in which of two values they read, and
// in what a cookie behind a blank or a parameter behind a semicolon is. So two claimed values of one source, two that both verify, and an unusual
// spelling are [ErrAmbiguous]. Reader trusts X-Forwarded-For and Forwarded (RFC 7239) from trusted proxies only.
//
// For gRPC, pass an HTTP request with the metadata as headers, the peer's address and the TLS state.
package identity
