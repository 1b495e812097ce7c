package identity

import (
	"fmt"
	"strings"
	"testing"
)

func TestNew_rejectsIdentities(t *testing.T) {
	var many []one
	for i := range 17 {
		many = append(many, one{name: fmt.Sprint(i)})
	}
	if _, err := newReader(Options{}, many[:16]...); err != nil {
		t.Error(err)
	}
	for want, set := range map[string][]one{
		"identities: must be at most 16, got 17":                           many,
		"identities.a: stat /nowhere/jwks.json: no such file or directory": {{name: "a", Identity: Identity{JWT: &JWT{Keys: "/nowhere/jwks.json"}}}},
	} {
		if _, err := newReader(Options{}, set...); err == nil || err.Error() != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

func TestNew_rejectsProxies(t *testing.T) {
	for want, proxies := range map[string][]string{
		"must be an address or a prefix such as 10.0.0.0/8, or unix": {"10.0.0.0/8", "proxy"},
		"must have no host bits set, as in 10.0.0.0/8, or unix":      {"10.0.0.1/8"},
		"must not trust every peer":                                  {"::/0"},
	} {
		_, err := New(map[string]Identity{"ip": {TrustedProxies: proxies}}, Code{}, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "identities.ip.trusted_proxies: "+want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

// Nobody on the way can forge keys: they are a file, or fetched by https, or from this machine.
func TestCheckKeys(t *testing.T) {
	for keys, want := range map[string]string{
		"jwks.json":                          "",
		"http://127.0.0.1:8080/jwks":         "",
		"http://127.1.2.3/":                  "",
		"http://[::1]/":                      "",
		"http://localhost:1":                 "",
		"https://id.example/a?b":             "",
		"http://id.example/jwks":             "must be an https URL, got http://id.example",
		"ftp://127.0.0.1/jwks":               "must be an https URL, got ftp://127.0.0.1",
		"http://127.0.0.1.evil.example/jwks": "must be an https URL, got http://127.0.0.1.evil.example",
		"file:///etc/jwks":                   "must be a URL with a host",
		"https://me:secret@id.example/jwks":  "must be a URL without user and password",
		"https://me:secret@id.exa mple/%zz":  "must be a valid URL",
	} {
		got := ""
		if err := CheckKeys(keys); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", keys, got, want)
		}
	}
}
