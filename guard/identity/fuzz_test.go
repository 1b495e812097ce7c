package identity

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzIdentify holds whatever a client sends to the bounds that an Identity promises, and to its own address.
func FuzzIdentify(f *testing.F) {
	f.Add("10.0.0.1:1", "fp:c:h", "key", "1.1.1.1, 203.0.113.7", `for="[2001:db8::1]:4711"`)
	f.Add("[::ffff:10.0.0.1%eth0]:1", "fp:\r\n:\x00", "~", ", ,unknown", `for="\", for=1.1.1.1`)
	var all []*Identifier
	for _, c := range []Config{
		{From: []Source{Fingerprint, APIKey, IP}, PlainKeys: true}, {From: []Source{APIKey}}, {}, {IPHeader: "Forwarded"},
	} {
		c.TrustedProxies = proxies
		all = append(all, mustNew(f, c))
	}
	f.Fuzz(func(t *testing.T, peer, fingerprint, key, forwardedFor, forwarded string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{
			"X-Fingerprint": {fingerprint}, "X-Api-Key": {key}, "X-Forwarded-For": {forwardedFor}, "Forwarded": {forwarded},
		}}
		for _, id := range all {
			got, err := id.Identify(r)
			if err != nil {
				continue
			}
			if len(got.Subject) > 260 || len(got.Receipt) > maxReceipt || len(got.Challenge) > maxChallenge ||
				!utf8.ValidString(got.Subject) || strings.ContainsAny(got.Subject+got.Receipt+got.Challenge, "\r\n\x00") {
				t.Errorf("got %+q", got)
			}
			if got.Source != IP {
				continue
			}
			text := strings.TrimPrefix(got.Subject, "ip=")
			if !strings.Contains(text, "/") {
				text += "/32"
			}
			if p, err := netip.ParsePrefix(text); err != nil || p.Masked() != p || p.Addr().Is4In6() {
				t.Errorf("got %q: %v", got.Subject, err)
			}
			// What is not behind a proxy can not name another.
			if peer, ok := parseHop(peer); ok && !id.trusts(peer) && got.Subject != id.subject(peer) {
				t.Errorf("peer %s became %s", peer, got.Subject)
			}
		}
	})
}
