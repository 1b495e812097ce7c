package middleware_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Each endpoint counts its client in a limit of an hour; search counts what clients claim as well.
const identities = `
version: 1
timeout: 20s
identities:
  ip: {trusted_proxies: ["10.0.0.0/8", "fd00::/8"]}
  user: {jwt: {claim: sub, keys: DIR/keys.pem, issuer: "https://id.example", audience: chat}}
  key: {header: X-API-Key, verify: {sha256_file: DIR/keys.txt}}
  device: {fingerprint: X-Fingerprint, verify: {hmac_file: DIR/hmac.txt}}
  session: {cookie: session, claimed: true}
  tab: {query: tab, claimed: true}
  tenant: {path: tenant, claimed: true}
  client: {first: [user, key, device, ip]}
endpoints:
  - name: chat
    match: ["POST /v1/chat"]
    idempotency: {header: Idempotency-Key}
    limits: [{name: hour, kind: sliding_log, limit: 100000, window: 1h}]
  - name: admin
    match: ["POST admin.example/v1/chat"]
    limits: [{name: hour, kind: sliding_log, limit: 100000, window: 1h}]
  - name: search
    match: ["/t/{tenant}/search"]
    idempotency: {header: Idempotency-Key}
    limits:
      - {name: hour, kind: sliding_log, limit: 100000, window: 1h}
      - {name: sessions, by: session, kind: sliding_log, limit: 100000, window: 1h}
      - {name: tabs, by: tab, kind: sliding_log, limit: 100000, window: 1h}
      - {name: tenants, by: tenant, kind: sliding_log, limit: 100000, window: 1h}
  - {name: files, match: ["/files/"], limits: [{name: hour, kind: sliding_log, limit: 100000, window: 1h}]}
  - {name: rest, match: ["/"], limits: [{name: hour, kind: sliding_log, limit: 1000000, window: 1h}]}
overrides:
  deny: ["ip=198.51.100.0/24", "key=banned", "device=stolen", "session=banned", "user=mallory"]
`

// An attack is a list of requests and their expected cost.
type attack struct {
	name string
	// send are requests, apart by a line ---: the request line without its version, and header lines. A name in braces is a proof,
	// genuine or not (proofs_test.go); {i} counts from 0 if times says so. "h2 " begins a request of HTTP/2.
	send string
	// want are the statuses, of which "-" is any below 500, and what is charged in Redis: limit, subject, and how often.
	want  string
	from  string // the peer; client unless it is set
	times int
}

const (
	client = "203.0.113.7:4711"
	proxy  = "10.0.0.1:80"
	direct = "200: chat ip=203.0.113.7" // what a request costs that proves nothing
)

// attacks are what clients send beside paths, which TestRouters_noSpellingEvadesLimits has.
var attacks = []attack{
	{name: "an honest request", send: "POST /v1/chat", want: direct},

	// API keys: only a known key identifies a client.
	{name: "a known key", send: "POST /v1/chat\nX-API-Key: partner-key", want: "200: chat key=partner"},
	{name: "a fresh key each", send: "POST /v1/chat\nX-API-Key: key-{i}", times: 20, want: direct + " x20"},
	{name: "the name of a key", send: "POST /v1/chat\nX-API-Key: partner", want: direct},
	{name: "the subject of a key", send: "POST /v1/chat\nX-API-Key: key=partner", want: direct},
	{name: "an empty key", send: "POST /v1/chat\nX-API-Key:", want: direct},
	{name: "a key of blanks", send: "POST /v1/chat\nX-API-Key: \t ", want: direct},
	{name: "a key and an empty one", send: "POST /v1/chat\nX-API-Key: partner-key\nX-API-Key:", want: "200: chat key=partner"},
	{name: "an empty key before", send: "POST /v1/chat\nX-API-Key:\nX-API-Key: partner-key", want: "200: chat key=partner"},
	{name: "a key twice", send: "POST /v1/chat\nX-API-Key: partner-key\nX-API-Key: partner-key", want: "200: chat key=partner"},
	{name: "a key, and one that is made up", send: "POST /v1/chat\nX-API-Key: made-up-{i}\nX-API-Key: partner-key", times: 3, want: "200: chat key=partner x3"},
	{name: "two known keys", send: "POST /v1/chat\nX-API-Key: partner-key\nX-API-Key: stolen-key", want: "400: "},
	{name: "nine keys", send: "POST /v1/chat" + lines("X-API-Key: %d", 9), want: "400: "},
	{name: "two keys in one line", send: "POST /v1/chat\nX-API-Key: partner-key, stolen-key", want: direct},
	{name: "a key in quotes", send: "POST /v1/chat\nX-API-Key: \"partner-key\"", want: direct},
	{name: "a key in capitals", send: "POST /v1/chat\nX-API-Key: PARTNER-KEY", want: direct},
	{name: "a header in capitals", send: "POST /v1/chat\nX-API-KEY: partner-key", want: "200: chat key=partner"},
	{name: "a header with an underscore", send: "POST /v1/chat\nX_API_Key: partner-key", want: "400: "},
	{name: "a header with a blank before its colon", send: "POST /v1/chat\nX-API-Key : partner-key", want: "400: "},
	{name: "a folded header", send: "POST /v1/chat\nX-API-Key: partner-\n key", want: direct},
	{name: "a key with a NUL", send: "POST /v1/chat\nX-API-Key: partner-key\x00", want: "400: "},
	{name: "a key with a bell", send: "POST /v1/chat\nX-API-Key: partner-key\a", want: "400: "},
	{name: "a key with a bare CR", send: "POST /v1/chat\nX-API-Key: partner-key\rX-API-Key: other", want: "400: "},
	{name: "a key with invalid UTF-8", send: "POST /v1/chat\nX-API-Key: \xff\xfe{i}", times: 5, want: direct + " x5"},
	{name: "a key with a bidirectional override", send: "POST /v1/chat\nX-API-Key: partner\u202e-key", want: direct},
	{name: "a key of 500 KiB", send: "POST /v1/chat\nX-API-Key: {500K}", want: direct},
	{name: "a key of 2 MiB", send: "POST /v1/chat\nX-API-Key: {2M}", want: "431: "},
	{name: "a key in the query", send: "POST /v1/chat?X-API-Key=partner-key", want: direct},
	{name: "a key in a cookie", send: "POST /v1/chat\nCookie: X-API-Key=partner-key", want: direct},
	{name: "a key that the policy denies", send: "POST /v1/chat\nX-API-Key: banned-key", want: "403: "},
	{name: "a denied key beside one that is made up", send: "POST /v1/chat\nX-API-Key: made-up\nX-API-Key: banned-key", want: "403: "},
	{name: "a denied key beside a user", send: "POST /v1/chat\nX-API-Key: banned-key\nAuthorization: Bearer {ada}", want: "403: "},

	// Tokens: only a valid signed token identifies a user.
	{name: "a token", send: "POST /v1/chat\nAuthorization: Bearer {ada}", want: "200: chat user=ada"},
	{name: "a token and a known key", send: "POST /v1/chat\nAuthorization: Bearer {ada}\nX-API-Key: partner-key", want: "200: chat user=ada"},
	{name: "alg none", send: "POST /v1/chat\nAuthorization: Bearer {none}", want: direct},
	{name: "the public key as secret", send: "POST /v1/chat\nAuthorization: Bearer {hs256}", want: direct},
	{name: "an expired token", send: "POST /v1/chat\nAuthorization: Bearer {expired}", want: direct},
	{name: "a token without exp", send: "POST /v1/chat\nAuthorization: Bearer {no exp}", want: direct},
	{name: "a token of later", send: "POST /v1/chat\nAuthorization: Bearer {not yet}", want: direct},
	{name: "a token for another audience", send: "POST /v1/chat\nAuthorization: Bearer {audience}", want: direct},
	{name: "a token of another issuer", send: "POST /v1/chat\nAuthorization: Bearer {issuer}", want: direct},
	{name: "a token of another key", send: "POST /v1/chat\nAuthorization: Bearer {forged}", want: direct},
	{name: "a token that brings its key", send: "POST /v1/chat\nAuthorization: Bearer {own jwk}", want: direct},
	{name: "a token without its end", send: "POST /v1/chat\nAuthorization: Bearer {cut}", want: direct},
	{name: "a token with other claims", send: "POST /v1/chat\nAuthorization: Bearer {changed}", want: direct},
	{name: "a token with two subs", send: "POST /v1/chat\nAuthorization: Bearer {two subs}", want: direct},
	{name: "a token with an empty sub", send: "POST /v1/chat\nAuthorization: Bearer {empty sub}", want: direct},
	{name: "a sub that is a combination", send: "POST /v1/chat\nAuthorization: Bearer {combined sub}", want: "200: chat user=ada%2Bip=1"},
	{name: "a sub that is written backwards", send: "POST /v1/chat\nAuthorization: Bearer {bidi sub}", want: "200: chat user=~hash"},
	{name: "a sub with a NUL", send: "POST /v1/chat\nAuthorization: Bearer {NUL sub}", want: "200: chat user=~hash"},
	{name: "a sub of 5000 bytes", send: "POST /v1/chat\nAuthorization: Bearer {long sub}", want: "200: chat user=~hash"},
	{name: "a token of 1 MiB less its frame", send: "POST /v1/chat\nAuthorization: Bearer {500K}.{500K}.x", want: direct},
	{name: "a token of 2 MiB", send: "POST /v1/chat\nAuthorization: Bearer {2M}", want: "431: "},
	{name: "two users", send: "POST /v1/chat\nAuthorization: Bearer {ada}\nAuthorization: Bearer {bob}", want: "400: "},
	{name: "a token twice", send: "POST /v1/chat\nAuthorization: Bearer {ada}\nAuthorization: Bearer {ada}", want: "200: chat user=ada"},
	{name: "a forged token before", send: "POST /v1/chat\nAuthorization: Bearer {forged}\nAuthorization: Bearer {ada}", want: "200: chat user=ada"},
	{name: "Basic before Bearer", send: "POST /v1/chat\nAuthorization: Basic eDp5\nAuthorization: Bearer {ada}", want: "200: chat user=ada"},
	{name: "a token as Basic", send: "POST /v1/chat\nAuthorization: Basic {ada}", want: direct},
	{name: "a token in Proxy-Authorization", send: "POST /v1/chat\nProxy-Authorization: Bearer {ada}", want: direct},
	{name: "a token in the query", send: "POST /v1/chat?access_token={ada}", want: direct},

	// Fingerprints: only a signed one identifies a device.
	{name: "a signed fingerprint", send: "POST /v1/chat\nX-Fingerprint: {phone}", want: "200: chat device=phone"},
	{name: "a made-up fingerprint each", send: "POST /v1/chat\nX-Fingerprint: fp:click{i}:device{i}", times: 20, want: direct + " x20"},
	{name: "a fingerprint with another hash", send: "POST /v1/chat\nX-Fingerprint: {other phone}", want: direct},
	{name: "an expired fingerprint", send: "POST /v1/chat\nX-Fingerprint: {old phone}", want: direct},
	{name: "a made-up fingerprint before the signed one", send: "POST /v1/chat\nX-Fingerprint: fp:a{i}:b\nX-Fingerprint: {phone}", times: 5, want: "200: chat device=phone x5"},
	{name: "a denied hash without a signature", send: "POST /v1/chat\nX-Fingerprint: fp:click:stolen", want: direct},

	// Addresses: only trusted proxies can forward an address.
	{name: "X-Forwarded-For from a client", send: "POST /v1/chat\nX-Forwarded-For: 192.0.2.{i}", times: 20, want: direct + " x20"},
	{name: "Forwarded from a client", send: "POST /v1/chat\nForwarded: for=192.0.2.1", want: direct},
	{name: "X-Real-IP from a client", send: "POST /v1/chat\nX-Real-IP: 192.0.2.1", want: direct},
	{name: "other headers of proxies from a client", send: "POST /v1/chat\nTrue-Client-IP: 192.0.2.1\nCF-Connecting-IP: 192.0.2.1\nX-Client-IP: 192.0.2.1\nX-Cluster-Client-IP: 192.0.2.1", want: direct},
	{name: "a client's address by the proxy", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 203.0.113.7", want: direct},
	{name: "a forged hop before the proxy's", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 192.0.2.{i}, 203.0.113.7", times: 20, want: direct + " x20"},
	{name: "a forged line before the proxy's", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 192.0.2.{i}\nX-Forwarded-For: 203.0.113.7", times: 5, want: direct + " x5"},
	{name: "a forged trusted hop", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 192.0.2.1, 10.9.9.9, 203.0.113.7, 10.0.0.2", want: direct},
	{name: "empty hops", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 192.0.2.1, , 203.0.113.7, ,", want: direct},
	{name: "a hop with a port", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 203.0.113.7:{i}", times: 5, want: direct + " x5"},
	{name: "a hop that is not an address", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 192.0.2.1, unknown", want: "200: chat ip=10.0.0.1"},
	{name: "a hop that is a name", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: localhost{i}", times: 5, want: "200: chat ip=10.0.0.1 x5"},
	{name: "a hop in octal", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 0313.0.113.7", want: "200: chat ip=10.0.0.1"},
	{name: "Forwarded by a proxy that sets X-Forwarded-For", from: proxy, send: "POST /v1/chat\nForwarded: for=192.0.2.1\nX-Forwarded-For: 203.0.113.7", want: direct},
	{name: "X-Real-IP through a proxy that sets X-Forwarded-For", from: proxy, send: "POST /v1/chat\nX-Real-IP: 192.0.2.1\nX-Forwarded-For: 203.0.113.7", want: direct},
	{name: "a header of 200 hops", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: " + strings.Repeat("192.0.2.1, ", 200) + "203.0.113.7", want: direct},
	{name: "an IPv6 hop in brackets", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: [2001:db8::7]:443", want: "200: chat ip=2001:db8::/64"},
	{name: "an IPv6 hop written out", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 2001:0DB8:0000:0000:0000:0000:0000:{i}", times: 9, want: "200: chat ip=2001:db8::/64 x9"},
	{name: "an IPv6 hop with a zone each", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 2001:db8::7%eth{i}", times: 5, want: "200: chat ip=2001:db8::/64 x5"},
	{name: "IPv4 mapped into IPv6", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: ::ffff:203.0.113.7", want: direct},
	{name: "IPv4 mapped, in hexadecimal", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: ::ffff:cb00:7107", want: direct},
	{name: "IPv4 by NAT64", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: 64:ff9b::203.0.113.7", want: direct},
	{name: "the peer is mapped", from: "[::ffff:203.0.113.7]:1", send: "POST /v1/chat", want: direct},
	{name: "the peer is another address of its /64", from: "[2001:db8::ffff:1]:1", send: "POST /v1/chat", want: "200: chat ip=2001:db8::/64"},
	{name: "a trusted proxy as mapped peer", from: "[::ffff:10.0.0.1]:1", send: "POST /v1/chat\nX-Forwarded-For: 203.0.113.7", want: direct},
	{name: "NAT64 of a trusted proxy is not one", from: "[64:ff9b::10.0.0.1]:1", send: "POST /v1/chat\nX-Forwarded-For: 203.0.113.7", want: "200: chat ip=10.0.0.1"},
	{name: "a denied address", from: "198.51.100.7:1", send: "POST /v1/chat", want: "403: "},
	{name: "a denied address by the proxy, mapped", from: proxy, send: "POST /v1/chat\nX-Forwarded-For: ::ffff:198.51.100.7", want: "403: "},
	{name: "a denied address by NAT64", from: "[64:ff9b::198.51.100.7]:1", send: "POST /v1/chat", want: "403: "},
	{name: "a denied address with a token", from: "198.51.100.7:1", send: "POST /v1/chat\nAuthorization: Bearer {ada}\nX-Forwarded-For: 203.0.113.7", want: "403: "},

	// A claimed value can add a limit, and never lifts one.
	{name: "a cookie", send: "GET /t/a/search\nCookie: session=s1", want: "200: search ip=203.0.113.7, search/sessions session=s1, search/tenants tenant=a"},
	{name: "a cookie twice", send: "GET /t/a/search\nCookie: session=s1; session=s2", want: "400: "},
	{name: "a fresh cookie each", send: "GET /t/a/search\nCookie: session={i}", times: 2, want: "200: search ip=203.0.113.7 x2, search/sessions session=0, search/sessions session=1, search/tenants tenant=a x2"},
	{name: "a cookie in quotes", send: "GET /t/a/search\nCookie: session=\"s1\"", want: "200: search ip=203.0.113.7, search/sessions session=s1, search/tenants tenant=a"},
	{name: "a denied cookie behind another", send: "GET /t/a/search\nCookie: session=s1\nCookie: session=banned", want: "400: "},
	{name: "a denied cookie in percent escapes", send: "GET /t/a/search\nCookie: session=%62anned", want: "403: "},
	{name: "a denied cookie in octal escapes", send: "GET /t/a/search\nCookie: session=\"\\142anned\"", want: "400: "},
	{name: "a denied cookie behind a space", send: "GET /t/a/search\nCookie: x=1 session=banned", want: "400: "},
	{name: "more cookies than net/http reads", send: "GET /t/a/search\nCookie: " + strings.Repeat("x=1;", 3000) + "session=s1", want: "200: search ip=203.0.113.7, search/sessions session=s1, search/tenants tenant=a"},
	{name: "nine cookies", send: "GET /t/a/search" + lines("Cookie: session=%d", 9), want: "400: "},
	{name: "a cookie of 16 KiB", send: "GET /t/a/search\nCookie: session={16K}", want: "200: search ip=203.0.113.7, search/sessions session=~hash, search/tenants tenant=a"},
	{name: "a parameter twice", send: "GET /t/a/search?tab=1&tab=2", want: "400: "},
	{name: "a parameter with a semicolon", send: "GET /t/a/search?tab=1;tab=2&x=1", want: "400: "},
	{name: "a parameter with an encoded name", send: "GET /t/a/search?t%61b=1", want: "200: search ip=203.0.113.7, search/tabs tab=1, search/tenants tenant=a"},
	{name: "a parameter with a plus", send: "GET /t/a/search?tab=1+2", want: "200: search ip=203.0.113.7, search/tabs tab=1 2, search/tenants tenant=a"},
	{name: "a parameter that is a combination", send: "GET /t/a/search?tab=1%2Bip%3D9", want: "200: search ip=203.0.113.7, search/tabs tab=1%2Bip=9, search/tenants tenant=a"},
	{name: "a parameter with control characters", send: "GET /t/a/search?tab=%0d%0aX:1%00", want: "200: search ip=203.0.113.7, search/tabs tab=~hash, search/tenants tenant=a"},
	{name: "a parameter with a broken escape", send: "GET /t/a/search?tab=%zz", want: "400: "},
	{name: "a parameter with half a character", send: "GET /t/a/search?tab=%e2%80", want: "200: search ip=203.0.113.7, search/tabs tab=~hash, search/tenants tenant=a"},
	{name: "a parameter of 16 KiB", send: "GET /t/a/search?tab={16K}", want: "200: search ip=203.0.113.7, search/tabs tab=~hash, search/tenants tenant=a"},
	{name: "braces and colons, as keys have them", send: "GET /t/a/search?tab=%7d:sliding_log:chat/hour%7b", want: "200: search ip=203.0.113.7, search/tabs tab=}:sliding_log:chat/hour{, search/tenants tenant=a"},
	{name: "a segment of 1000 bytes", send: "GET /t/{1000}/search", want: "200: search ip=203.0.113.7, search/tenants tenant=~hash"},

	// Repeats: an ID belongs to one client, endpoint and method.
	{name: "an ID three times", send: "POST /v1/chat\nIdempotency-Key: one", times: 3, want: direct + " x2"},
	{name: "an ID by two clients", send: "POST /v1/chat\nIdempotency-Key: two\n---\nPOST /v1/chat\nIdempotency-Key: two\nX-API-Key: partner-key", want: "200 200: chat ip=203.0.113.7, chat key=partner"},
	{name: "an ID at two endpoints", send: "POST /v1/chat\nIdempotency-Key: three\n---\nPOST /t/a/search\nIdempotency-Key: three", want: "200 200: chat ip=203.0.113.7, search ip=203.0.113.7, search/tenants tenant=a"},
	{name: "an ID by two methods", send: "GET /t/a/search\nIdempotency-Key: four\n---\nPOST /t/a/search\nIdempotency-Key: four", want: "200 200: search ip=203.0.113.7 x2, search/tenants tenant=a x2"},
	{name: "an ID by two spellings of a path", send: "POST /v1/chat\nIdempotency-Key: five\n---\nPOST //v1/chat\nIdempotency-Key: five", want: "200 400: chat ip=203.0.113.7"},
	{name: "two IDs", send: "POST /v1/chat\nIdempotency-Key: six\nIdempotency-Key: seven", times: 3, want: direct + " x3"},
	{name: "an empty ID", send: "POST /v1/chat\nIdempotency-Key:", times: 3, want: direct + " x3"},
	{name: "an ID and an empty one", send: "POST /v1/chat\nIdempotency-Key: eight\nIdempotency-Key:", times: 3, want: direct + " x3"},
	{name: "an ID of 1000 bytes", send: "POST /v1/chat\nIdempotency-Key: {1000}", times: 2, want: direct},
	{name: "an ID of 500 KiB", send: "POST /v1/chat\nIdempotency-Key: {500K}", times: 2, want: direct},
	{name: "an ID with invalid UTF-8", send: "POST /v1/chat\nIdempotency-Key: \xff", want: direct},
	{name: "a fresh ID each", send: "POST /v1/chat\nIdempotency-Key: id-{i}", times: 20, want: direct + " x20"},

	// Methods, hosts, and what HTTP itself can be made to do.
	{name: "a method override header", send: "GET /v1/chat\nX-HTTP-Method-Override: POST\nX-HTTP-Method: POST\nX-Method-Override: POST", want: "-: rest ip=203.0.113.7"},
	{name: "a method override parameter", send: "GET /v1/chat?_method=POST", want: "-: rest ip=203.0.113.7"},
	{name: "a method in lower case", send: "post /v1/chat", want: "400: "},
	{name: "an unknown method", send: "BREW /v1/chat", want: "-: rest ip=203.0.113.7"},
	{name: "a method that is not a token", send: "PO(ST /v1/chat", want: "400: "},
	{name: "TRACE", send: "TRACE /v1/chat", want: "-: rest ip=203.0.113.7"},
	{name: "OPTIONS", send: "OPTIONS /v1/chat", want: "-: rest ip=203.0.113.7"},
	{name: "OPTIONS of the server itself, which net/http answers", send: "OPTIONS *", want: "200: "},
	{name: "an asterisk for a path", send: "POST *", want: "400: "},
	{name: "CONNECT", send: "CONNECT api.example:443\nHost: api.example:443", want: "-: rest ip=203.0.113.7"},
	{name: "CONNECT with a path", send: "CONNECT /v1/chat", want: "-: rest ip=203.0.113.7"},
	{name: "an absolute target", send: "POST http://api.example/v1/chat", want: direct},
	{name: "an absolute target with another host", send: "POST http://admin.example/v1/chat\nHost: api.example", want: "200: admin ip=203.0.113.7"},
	{name: "an absolute target against the host", send: "POST http://api.example/v1/chat\nHost: admin.example", want: direct},
	{name: "another scheme", send: "POST ftp://api.example/v1/chat", want: direct},
	{name: "a user in the target", send: "POST http://ada:x@api.example/v1/chat", want: direct},
	{name: "a host in capitals, with a dot and a port", send: "POST /v1/chat\nHost: ADMIN.Example.:8080", want: "200: admin ip=203.0.113.7"},
	{name: "a host with two dots", send: "POST /v1/chat\nHost: admin.example..", want: direct},
	{name: "an empty host", send: "POST /v1/chat\nHost:", want: direct},
	{name: "two hosts", send: "POST /v1/chat\nHost: api.example\nHost: admin.example", want: "400: "},
	{name: "a host that is none", send: "POST /v1/chat\nHost: a b", want: "400: "},
	{name: "a host that is an address", send: "POST /v1/chat\nHost: [::1%25eth0]:80", want: direct},
	{name: "a host by X-Forwarded-Host", send: "POST /v1/chat\nX-Forwarded-Host: admin.example", want: direct},
	{name: "a path by X-Original-URL", send: "GET /free\nX-Original-URL: /v1/chat\nX-Rewrite-URL: /v1/chat", want: "-: rest ip=203.0.113.7"},
	{name: "two lengths", send: "POST /v1/chat\nContent-Length: 3\nContent-Length: 4", want: "400: "},
	{name: "a length and chunks", send: "POST /v1/chat\nContent-Length: 3\nTransfer-Encoding: chunked\n\n0", want: direct},
	{name: "a negative length", send: "POST /v1/chat\nContent-Length: -1", want: "400: "},
	{name: "an unknown transfer coding", send: "POST /v1/chat\nTransfer-Encoding: xchunked", want: "501: "},
	{name: "Expect", send: "POST /v1/chat\nContent-Length: 5\nExpect: 100-continue", want: direct},
	{name: "Expect of what is not there", send: "POST /v1/chat\nExpect: 200-maybe", want: "417: "},
	{name: "an upgrade to WebSocket", send: "POST /v1/chat\nUpgrade: websocket\nSec-WebSocket-Key: x", want: direct},
	{name: "an upgrade to HTTP/2", send: "POST /v1/chat\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAAQAAP__", want: direct},
	{name: "headers that name hops", send: "POST /v1/chat\nX-API-Key: partner-key\nConnection: X-API-Key", want: "200: chat key=partner"},
	{name: "HTTP/2", send: "h2 POST /v1/chat\n:authority: api.example", want: direct},
	{name: "HTTP/2, an authority against the host", send: "h2 POST /v1/chat\n:authority: admin.example\nhost: api.example", want: "200: admin ip=203.0.113.7"},
	{name: "HTTP/2, a host against the authority", send: "h2 POST /v1/chat\n:authority: api.example\nhost: admin.example", want: direct},
	{name: "HTTP/2, no authority", send: "h2 POST /v1/chat\nhost: ADMIN.example", want: "200: admin ip=203.0.113.7"},
	{name: "HTTP/2, a key twice and empty", send: "h2 POST /v1/chat\n:authority: a\nx-api-key: partner-key\nx-api-key: partner-key\nx-api-key: ", want: "200: chat key=partner"},
	{name: "HTTP/2, a header in capitals", send: "h2 POST /v1/chat\n:authority: a\nX-API-Key: partner-key", want: "0: "},
	{name: "HTTP/2, cookies in lines", send: "h2 GET /t/a/search\n:authority: a\ncookie: session=s1\ncookie: session=banned", want: "400: "},
	{name: "HTTP/2, a path that is none", send: "h2 POST v1/chat\n:authority: a", want: "0: "},
}

// quiet keeps the end of a test's files out of the log.
var quiet = identity.Options{OnReload: func(string, error) {}}

// lines are header lines, numbered.
func lines(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\n"+format, i)
	}
	return b.String()
}

// Every request costs what the table says with each router, and the number and length of keys are bounded.
func TestClients_noInputEvadesLimits(t *testing.T) {
	secrets := writeSecrets(t)
	proofs := secrets.proofs(t)
	p, err := policy.Parse("identities.yaml", []byte(strings.ReplaceAll(identities, "DIR", filepath.ToSlash(secrets.dir))))
	if err != nil {
		t.Fatal(err)
	}
	inputs := 0
	for name, router := range routers(t) {
		t.Run(name, func(t *testing.T) {
			server := embedded.New(embedded.Options{})
			rdb := server.Client()
			t.Cleanup(func() { _, _ = rdb.Close(), server.Close() })
			l := &ledger{rdb: rdb}
			g, err := guard.New(rdb, p, guard.Options{CacheSize: -1, Observers: []guard.Observer{l.observe}})
			if err != nil {
				t.Fatal(err)
			}
			m, err := httpguard.New(g, httpguard.Options{Identity: quiet})
			if err != nil {
				t.Fatal(err)
			}
			w, panics := serveHTTP(t, m.Handler(router))
			for _, a := range attacks {
				statuses := a.run(t, w, proofs)
				if got := statuses + ": " + l.sum(t); !a.costs(got) {
					t.Errorf("%s: got %q, want %q", a.name, got, a.want)
				}
				l.close()
				inputs += max(a.times, 1)
			}
			checkKeys(t, rdb, 40)
			if panics.Load() > 0 {
				t.Errorf("%d panics", panics.Load())
			}
		})
	}
	t.Logf("%d inputs in %d rows", inputs, len(attacks))
}

// A claimed identity creates a key for each value, but no more keys than the verified limits allow requests.
func TestClients_claimedValuesMakeAtMostOneKeyPerAllowedRequest(t *testing.T) {
	p, err := policy.Parse("tabs.yaml", []byte(`
version: 1
timeout: 20s
identities: {tab: {query: tab, claimed: true}}
endpoints:
  - name: search
    match: ["/"]
    limits: [{name: hour, limit: 5, window: 1h}, {name: tabs, by: tab, limit: 3, window: 1h}]
`))
	if err != nil {
		t.Fatal(err)
	}
	server := embedded.New(embedded.Options{})
	rdb := server.Client()
	t.Cleanup(func() { _, _ = rdb.Close(), server.Close() })
	g, err := guard.New(rdb, p, guard.Options{CacheSize: -1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := serveHTTP(t, m.Handler(answer("search")))
	got := map[int]int{}
	for i := range 100 {
		status := w.h1(t, client, fmt.Sprintf("GET /?tab=%d", i))
		got[status]++
	}
	if got[200] != 5 || got[429] != 95 {
		t.Errorf("statuses are %v", got)
	}
	checkKeys(t, rdb, 6) // one of the address, and one of each tab that passed
}

// run sends an attack and returns the different statuses of its requests.
func (a *attack) run(t *testing.T, w *wire, proofs *strings.Replacer) string {
	t.Helper()
	from := a.from
	if from == "" {
		from = client
	}
	var statuses []string
	for i := range max(a.times, 1) {
		for j, request := range strings.Split(a.send, "\n---\n") {
			request = proofs.Replace(strings.ReplaceAll(request, "{i}", strconv.Itoa(i)))
			var status int
			if over2, ok := strings.CutPrefix(request, "h2 "); ok {
				status = statusOf(w.h2(t, from, pseudo(over2), []byte{}))
			} else {
				status = w.h1(t, from, request)
			}
			if status >= 500 && status != http.StatusNotImplemented {
				t.Errorf("%s: %d", a.name, status)
			}
			if i == 0 || statuses[j] != strconv.Itoa(status) {
				statuses = append(statuses, strconv.Itoa(status))
			}
		}
	}
	return strings.Join(statuses, " ")
}

// costs compares the cost of an attack with the expected one.
func (a *attack) costs(got string) bool {
	want := strings.Split(a.want, ": ")
	gotStatuses, gotCharges, _ := strings.Cut(got, ": ")
	wantStatuses, fields := strings.Fields(want[0]), strings.Fields(gotStatuses)
	return strings.Join(want[1:], ": ") == gotCharges && slices.EqualFunc(wantStatuses, fields, func(want, got string) bool {
		return want == got || want == "-"
	})
}
