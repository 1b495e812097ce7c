package identity

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestNew_rejectsIdentities(t *testing.T) {
	var many []Config
	for i := range 17 {
		many = append(many, Config{Name: fmt.Sprint(i), Address: true})
	}
	if _, err := New(Options{}, many[:16]...); err != nil {
		t.Error(err)
	}
	for want, set := range map[string][]Config{
		"identity: must have at most 16 identities, got 17":                        many,
		"identity a: JWT keys: stat /nowhere/jwks.json: no such file or directory": {{Name: "a", JWT: &JWT{Keys: "/nowhere/jwks.json"}}},
	} {
		if _, err := New(Options{}, set...); err == nil || err.Error() != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

func TestNew_rejectsOptions(t *testing.T) {
	for want, o := range map[string]Options{
		`identity: ForwardedHeader must be a header name, got "X Forwarded"`:        {ForwardedHeader: "X Forwarded"},
		"identity: TrustedProxies[1] must be a valid prefix: use netip.ParsePrefix": {TrustedProxies: []netip.Prefix{trusted[0], {}}},
	} {
		if _, err := New(o); err == nil || err.Error() != want {
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
