package identity

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNew_rejectsIdentities(t *testing.T) {
	named := func(c Config) Config { c.Name = "user"; return c }
	token := func(j JWT) Config { return named(Config{JWT: &j}) }
	const missing = "/nowhere/jwks.json"
	for want, c := range map[string]Config{
		`identity: name of identity 0 must be 1 to 32 of the characters a-z 0-9 _ -, got ""`:     {Address: true},
		`identity: name of identity 0 must be 1 to 32 of the characters a-z 0-9 _ -, got "User"`: {Name: "User", Address: true},
		`identity: name of identity 0 must be 1 to 32 of the characters a-z 0-9 _ -, got "a=b"`:  {Name: "a=b", Address: true},
		`identity: name of identity 0 must be 1 to 32 of the characters a-z 0-9 _ -, got "` + strings.Repeat("a", 33) + `"`: {
			Name: strings.Repeat("a", 33), Address: true,
		},
		"has no source: set Address, Header, Cookie, Query, Path, Fingerprint, JWT, Certificate or Func": named(Config{}),
		"must have one source, got Address and Header":                                                   named(Config{Address: true, Header: "A"}),
		"must have one source, got Cookie and Query and Path":                                            named(Config{Path: "a", Cookie: "a", Query: "a"}),
		"Verify applies only to Header, Cookie, Query and Fingerprint":                                   named(Config{Address: true, Verify: accepting{}}),
		"IPv4Prefix and IPv6Prefix apply only to Address":                                                named(Config{Header: "A", IPv6Prefix: 64}),
		"IPv4Prefix must be 1 to 32, got 33":                                                             named(Config{Address: true, IPv4Prefix: 33}),
		"IPv6Prefix must be 1 to 128, got -1":                                                            named(Config{Address: true, IPv6Prefix: -1}),
		`Header must be a header name, got "X Key"`:                                                      named(Config{Header: "X Key"}),
		`Header must be a header name, got "X-Kéy"`:                                                      named(Config{Header: "X-Kéy"}),
		"Header must not be Host: match the host in an endpoint's pattern":                               named(Config{Header: "host"}),
		"Header must not be Cookie: name the cookie as a source of its own":                              named(Config{Header: "cookie"}),
		"header Authorization holds a secret: use JWT, or set Verify":                                    named(Config{Header: "authorization"}),
		`Fingerprint must be a header name, got "a\nb"`:                                                  named(Config{Fingerprint: "a\nb"}),
		`Cookie must be a cookie name, got "a=b"`:                                                        named(Config{Cookie: "a=b"}),
		`Query must have at most 256 printable bytes, got "a\u200b"`:                                     named(Config{Query: "a\u200b"}),
		`invalid Certificate "serial": use sha256, common_name, dns or uri`:                              named(Config{Certificate: "serial"}),
		"OneOf applies only to JWT":                                                                      named(Config{Header: "A", OneOf: []string{"a"}}),
		"Fold applies only to Header, Cookie, Query, Path, JWT and Func":                                 named(Config{Address: true, Fold: FoldCase}),
		`invalid Fold "upper": use nfc, email or case`:                                                   named(Config{Header: "A", Fold: "upper"}),
		"OneOf and Fold cannot be combined: its values are exact":                                        named(Config{JWT: &JWT{Keys: missing}, OneOf: []string{"a"}, Fold: FoldCase}),
		`OneOf must have at most 32 values, and none that is empty, got ["a" ""]`:                        named(Config{JWT: &JWT{Keys: missing}, OneOf: []string{"a", ""}}),
		`JWT.Scheme must be a word before the token in a header, such as Bearer, got "a b"`:              token(JWT{Scheme: "a b", Keys: missing}),
		`JWT.Scheme must be a word before the token in a header, such as Bearer, got "JWT"`:              token(JWT{Scheme: "JWT", Cookie: "a", Keys: missing}),
		"JWT: set Header or Cookie, not both":                                                            token(JWT{Header: "A", Cookie: "b", Keys: missing}),
		`JWT.Header must be a header name, got "A B"`:                                                    token(JWT{Header: "A B", Keys: missing}),
		"JWT.Claim must have at most 256 bytes, got 257":                                                 token(JWT{Claim: strings.Repeat("c", 257), Keys: missing}),
		"JWT.Leeway must be 0 to 10m0s, got 10m0.000000001s":                                             token(JWT{Leeway: 10*time.Minute + 1, Keys: missing}),
		"JWT.Leeway must be 0 to 10m0s, got -1s":                                                         token(JWT{Leeway: -time.Second, Keys: missing}),
		"JWT.Keys must be a file or an https URL":                                                        token(JWT{}),
		"JWT.Keys must be an https URL, got http://id.example":                                           token(JWT{Keys: "http://id.example/jwks"}),
		"JWT.Keys must be an https URL, got ftp://127.0.0.1":                                             token(JWT{Keys: "ftp://127.0.0.1/jwks"}),
		"JWT.Keys must be an https URL, got http://127.0.0.1.evil.example":                               token(JWT{Keys: "http://127.0.0.1.evil.example/jwks"}),
		"JWT.Keys must be a URL with a host":                                                             token(JWT{Keys: "file:///etc/jwks"}),
		"JWT.Keys must be a URL without user and password":                                               token(JWT{Keys: "https://me:secret@id.example/jwks"}),
		"JWT.Keys must be a valid URL":                                                                   token(JWT{Keys: "https://me:secret@id.exa mple/%zz"}),
		"JWT keys: stat /nowhere/jwks.json: no such file or directory":                                   token(JWT{Keys: missing}),
	} {
		if !strings.HasPrefix(want, "identity: ") {
			want = "identity user: " + want
		}
		r, err := New(Options{}, c)
		if err == nil || err.Error() != want {
			t.Errorf("want %s, got %v, %v", want, err, r)
		}
	}
}

func TestNew_rejectsSets(t *testing.T) {
	var many []Config
	for i := range 17 {
		many = append(many, Config{Name: fmt.Sprint(i), Address: true})
	}
	if _, err := New(Options{}, many[:16]...); err != nil {
		t.Error(err)
	}
	for want, set := range map[string][]Config{
		"identity: must have at most 16 identities, got 17":                 many,
		"identity a: duplicate name":                                        {{Name: "a", Address: true}, {Name: "b", Address: true}, {Name: "a", Header: "A"}},
		"identity b: must be the only fingerprint: identity a has one, too": {{Name: "a", Fingerprint: "A"}, {Name: "b", Fingerprint: "B"}},
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

// New neither changes its arguments nor sees later changes to them.
func TestNew_copiesItsArguments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jwks.json")
	write(t, path, jwks(t, jwk(rsaKey, "r1")), 0)
	token := &JWT{Keys: path}
	set := []Config{{Name: "user", JWT: token}, {Name: "key", Header: "x-api-key"}}
	proxies := []netip.Prefix{trusted[0]}
	r := mustNew(t, Options{TrustedProxies: proxies}, set...)
	if token.Claim != "" || set[1].Header != "x-api-key" || set[0].IPv6Prefix != 0 {
		t.Errorf("changed: %+v, %+v", token, set)
	}
	token.Audience, set[1].Name, proxies[0] = "other", "other", netip.Prefix{}
	req := request("X-API-Key", "a", "Authorization", "Bearer "+sign(t, rsaKey, "r1", valid()), "X-Forwarded-For", "203.0.113.7")
	req.RemoteAddr = "10.0.0.1:1"
	got, err := r.Read(req, nil)
	if err != nil || strings.Join(got.Subjects, " ") != "user=42 key=a" || got.Address.String() != "203.0.113.7" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCheckKeyURL_loopback(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1:8080/jwks", "http://127.1.2.3/", "http://[::1]/", "http://localhost:1", "https://id.example/a?b"} {
		if _, err := parseKeyURL(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}
