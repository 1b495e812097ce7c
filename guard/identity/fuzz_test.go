package identity

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4/json"
)

// FuzzRead checks that any request stays within the bounds of Found, and cannot change the client's address.
func FuzzRead(f *testing.F) {
	path := filepath.Join(f.TempDir(), "jwks.json")
	write(f, path, jwks(f, jwk(rsaKey, "r1")), 0)
	h := mustHMAC(f, start, oldKey)
	f.Add("10.0.0.1:1", "fp:c:h", "key", "1.1.1.1, 203.0.113.7", `for="[2001:db8::1]:4711"`, "sid=a; sid=b", "q=1&q=%2B", "Bearer "+sign(f, rsaKey, "r1", valid()))
	f.Add("[::ffff:10.0.0.1%eth0]:1", "fp:\r\n:\x00", "~", ", ,unknown", `for="\", for=1.1.1.1`, `sid="a`, "q;q=%", "Bearer ..")
	f.Add("[64:ff9b::a00:1]:1", mustSign(f, h, "c1", "ab12"), "a+b%", "::1.2.3.4", "for=_x", "", "", "bearer eyJhbGciOiJub25lIn0.e30.")
	f.Add("10.0.0.1:1", "", "Ada@EXAMPLE.com", "", "", "", "q=Zoe%CC%88@%C4%B0.example&q="+strings.Repeat("%CC%81", 400), "JWT ..")
	var all []*Reader
	for _, ip := range []Identity{{TrustedProxies: trusted}, {TrustedProxies: trusted, ForwardedHeader: "X-Client"}, {}} {
		ip.IPv6Prefix = 128
		all = append(all, mustNew(f, Options{},
			one{name: "ip", Identity: ip},
			one{name: "net", Identity: Identity{IPv6Prefix: 56, IPv4Prefix: 24}},
			one{name: "key", Identity: Identity{Header: "X-API-Key"}},
			one{name: "known", Identity: Identity{Header: "X-API-Key"}, verify: accepting{}},
			one{name: "session", Identity: Identity{Cookie: "sid"}},
			one{name: "app", Identity: Identity{Query: "q"}},
			one{name: "device", Identity: Identity{Fingerprint: "X-Fingerprint"}, verify: h},
			one{name: "user", Identity: Identity{JWT: &JWT{Keys: path}}},
			one{name: "account", Identity: Identity{Header: "X-API-Key", Fold: FoldCase}},
			one{name: "mail", Identity: Identity{Query: "q", Fold: FoldEmail}},
		))
	}
	f.Fuzz(func(t *testing.T, peer, fingerprint, key, forwardedFor, forwarded, cookie, query, authorization string) {
		r := &http.Request{RemoteAddr: peer, URL: &url.URL{RawQuery: query}, Header: http.Header{
			"X-Fingerprint": {fingerprint}, "X-Api-Key": {key, "good-" + key}, "X-Forwarded-For": {forwardedFor}, "Forwarded": {forwarded},
			"Cookie": {cookie}, "Authorization": {authorization},
		}}
		for _, reader := range all {
			got, err := reader.Read(r, nil)
			if err != nil {
				if !errors.Is(err, ErrAmbiguous) {
					t.Error(err)
				}
				continue
			}
			checkFound(t, got)
			// A peer that is not a trusted proxy cannot name another address.
			if peer, ok := parseHop(peer); ok && !reader.trusts(peer, false) && got.Address != embeddedIPv4(peer) {
				t.Errorf("peer %s became %s", peer, got.Address)
			}
		}
	})
}

func checkFound(t *testing.T, got Found) {
	t.Helper()
	names := map[string]bool{}
	for _, subject := range got.Subjects {
		name, value, _ := strings.Cut(subject, "=")
		if len(subject) > 289 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || strings.Contains(value, "+") || strings.ContainsFunc(subject, unicode.IsControl) {
			t.Errorf("got %+q", subject)
		}
		if names[name] {
			t.Errorf("%s twice: %q", name, got.Subjects)
		}
		names[name] = true
		if name != "ip" && name != "net" {
			if !IsValue(value) {
				t.Errorf("not a value: %+q", subject)
			}
			continue
		}
		if !strings.Contains(value, "/") {
			if addr, err := netip.ParseAddr(value); err != nil || addr != got.Address {
				t.Errorf("got %q: %v", subject, err)
			}
		} else if p, err := netip.ParsePrefix(value); err != nil || p.Masked() != p || !p.Contains(got.Address) {
			t.Errorf("got %q: %v", subject, err)
		}
	}
	if len(got.Receipt) > maxReceipt || len(got.Challenge) > maxChallenge || !printable(got.Receipt) || !printable(got.Challenge) {
		t.Errorf("got %+q, %+q", got.Receipt, got.Challenge)
	}
	if got.Receipt != "" && got.Subject("device") == "" {
		t.Errorf("a receipt without a verified fingerprint: %+v", got)
	}
}

// FuzzValue checks that Value returns text that is safe, stable and different for different values.
func FuzzValue(f *testing.F) {
	for _, raw := range []string{"a", "a+b", "%2B", "~", "\x00", "\u202e", "\xff", strings.Repeat("+", 90)} {
		f.Add(raw, raw+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		value := Value(a)
		if a != "" && (!IsValue(value) || !printable(value) || len(value) > maxValue || strings.Contains(value, "+")) {
			t.Errorf("%+q became %+q", a, value)
		}
		if a != b && value == Value(b) {
			t.Errorf("%+q and %+q are both %+q", a, b, value)
		}
	})
}

// FuzzToken checks that a token without a valid signature is never valid.
func FuzzToken(f *testing.F) {
	r := tokenReader(f)
	good := sign(f, rsaKey, "r1", valid())
	f.Add(good)
	f.Add(raw(`{"alg":"none"}`, text(f, valid()), nil))
	f.Add(byHand(secretKey[:31], `{"alg":"HS256","kid":"s1","crit":["b64"],"b64":false}`, text(f, valid())))
	head := good[:strings.LastIndexByte(good, '.')]
	f.Fuzz(func(t *testing.T, token string) {
		if _, ok := r.verifications[0].verify(token, time.Now()); ok && !strings.HasPrefix(token, head) {
			t.Errorf("valid: %q", token)
		}
	})
}

// FuzzClaims checks that a claim of any payload is text that the payload has, and one of those that are asked for.
func FuzzClaims(f *testing.F) {
	f.Add(`{"a":{"b":["pro",7,null,{"x":1}]}}`, "a.b")
	f.Add(`{"https://example.com/tenant":"acme"}`, "https://example.com/tenant")
	f.Add(`{"a.b":{"c":"x"},"a":{"b.c":1}}`, "a.b.c")
	f.Add(`{"a":{"b":{"b":{"b":{}}}}}`, strings.Repeat("a.b", 80))
	f.Add(strings.Repeat(`{"a":`, 200)+`"x"`+strings.Repeat("}", 200), strings.Repeat("a.", 120)+"a")
	f.Fuzz(func(t *testing.T, payload, path string) {
		var all claims
		if len(path) > 256 || json.Unmarshal([]byte(payload), &all) != nil {
			return
		}
		raw := all.at(path)
		if !strings.Contains(payload, string(raw)) {
			t.Errorf("%s of %s is %s", path, payload, raw)
		}
		if text := claimText(raw); text != "" && !utf8.ValidString(text) {
			t.Errorf("%s of %s is %+q", path, payload, text)
		}
		if one := bestOf([]string{"enterprise", "pro"}, raw); one != "" && !strings.Contains(payload, one) && !strings.Contains(payload, `\u`) {
			t.Errorf("%s of %s is %s", path, payload, one)
		}
	})
}

// FuzzFiles checks that no content of a file or URL panics.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(digest("a") + " name\n# comment\n"))
	f.Add([]byte("k1 " + strings.Repeat("ab", 32)))
	f.Add([]byte(jwks(f, jwk(ecKey, "e1"), jwk(secretKey, "s1"))))
	f.Add([]byte(pemOf(f, ecKey, edKey)))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, secrets := range []bool{false, true} {
			if keys, err := parseKeys(content, secrets); (err == nil) != (len(keys) > 0) {
				t.Errorf("%d keys, %v", len(keys), err)
			}
		}
		_ = (&Digests{}).parse("keys", content)
		_ = (&HMAC{}).parse("keys", content)
	})
}
