package policy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard/identity"
)

func TestIdentifier_doesAsThePolicySays(t *testing.T) {
	p, err := Parse("p.yaml", []byte(`
identity:
  from: [fingerprint, api_key, ip]
  fingerprint: {verify: hmac, header: X-Print}
  api_key: {header: X-Key, plain: true}
  ip: {trusted_proxies: [192.0.2.1], ipv6_prefix: 56, header: Forwarded}
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Identity.Identifier(nil); err == nil {
		t.Error("no verifier, and no error")
	}
	verifier, err := identity.NewHMAC([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(Policy).Identity.Identifier(verifier); err == nil {
		t.Error("a verifier that nobody asks for, and no error")
	}
	id, err := p.Identity.Identifier(verifier)
	if err != nil {
		t.Fatal(err)
	}
	for subject, header := range map[string]http.Header{
		"key=partner":        {"X-Print": {"fp:c:unsigned"}, "X-Key": {"partner"}},
		"ip=2001:db8:1::/56": {"Forwarded": {`for="[2001:db8:1:2::1]"`}},
		"ip=192.0.2.1":       {"X-Forwarded-For": {"203.0.113.7"}},
	} {
		got, err := id.Identify(&http.Request{RemoteAddr: "192.0.2.1:1", Header: header})
		if err != nil || got.Subject != subject {
			t.Errorf("want %s, got %+v, %v", subject, got, err)
		}
	}
}
