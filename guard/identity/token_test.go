package identity

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/maypok86/otter/v2"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// tokenReader reads user and tenant of one token: RSA r1, EC e1, Ed25519 d1, a shared secret s1.
func tokenReader(t testing.TB) *Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	write(t, path, jwks(t, jwk(rsaKey, "r1"), jwk(ecKey, "e1"), jwk(edKey, "d1"), jwk(secretKey, "s1")), 0)
	token := JWT{Keys: path, Issuer: "https://id.example", Audience: "chat"}
	tenant := token
	tenant.Claim = "org"
	return mustNew(t, Options{}, one{name: "user", Identity: Identity{JWT: &token}}, one{name: "tenant", Identity: Identity{JWT: &tenant}})
}

func TestRead_validTokens(t *testing.T) {
	r := tokenReader(t)
	both := []string{"tenant=acme", "user=42"}
	numbers := func(n string) string {
		return fmt.Sprintf(`{"sub":%s,"iss":"https://id.example","aud":"chat","exp":%d}`, n, time.Now().Unix()+60)
	}
	for name, c := range map[string]struct {
		token string
		want  []string
	}{
		"RSA":                      {sign(t, rsaKey, "r1", valid()), both},
		"RSA-PSS":                  {signWith(t, rsaKey, jose.PS512, object{"kid": "r1"}, valid()), both},
		"EC":                       {sign(t, ecKey, "e1", valid()), both},
		"Ed25519":                  {sign(t, edKey, "d1", valid()), both},
		"a shared secret":          {sign(t, secretKey, "s1", valid()), both},
		"no kid":                   {signWith(t, ecKey, jose.ES256, nil, valid()), both},
		"one audience":             {sign(t, rsaKey, "r1", valid(object{"aud": "chat"})), both},
		"expired within leeway":    {sign(t, rsaKey, "r1", valid(object{"exp": time.Now().Unix() - 20})), both},
		"not before within leeway": {sign(t, rsaKey, "r1", valid(object{"nbf": time.Now().Unix() + 20})), both},
		"issued within leeway":     {sign(t, rsaKey, "r1", valid(object{"iat": time.Now().Unix() + 20})), both},
		"a fractional expiry":      {sign(t, rsaKey, "r1", valid(object{"exp": float64(time.Now().Unix()) + 60.5})), both},
		"another type of token":    {signWith(t, rsaKey, jose.RS256, object{"kid": "r1", "typ": "at+jwt"}, valid()), both},
		"no org":                   {sign(t, rsaKey, "r1", valid(object{"org": nil})), both[1:]},
		"an empty org":             {sign(t, rsaKey, "r1", valid(object{"org": ""})), both[1:]},
		"org is an object":         {sign(t, rsaKey, "r1", valid(object{"org": object{"id": 1}})), both[1:]},
		"org is a list":            {sign(t, rsaKey, "r1", valid(object{"org": []string{"acme"}})), both[1:]},
		"org is a bool":            {sign(t, rsaKey, "r1", valid(object{"org": true})), both[1:]},
		"org is a number":          {sign(t, rsaKey, "r1", valid(object{"org": 7})), []string{"tenant=7", "user=42"}},
		"org is a combination":     {sign(t, rsaKey, "r1", valid(object{"org": "a+path=b"})), []string{"tenant=a%2Bpath=b", "user=42"}},
		"org is half a character":  {sign(t, rsaKey, "r1", strings.Replace(text(t, valid()), "acme", `\ud800`, 1)), both[1:]},
		"another case of a claim":  {sign(t, rsaKey, "r1", valid(object{"org": nil, "ORG": "acme"})), both[1:]},
		"a number":                 {sign(t, rsaKey, "r1", numbers("9007199254740993")), []string{"user=9007199254740993"}},
		"a negative number":        {sign(t, rsaKey, "r1", numbers("-1")), []string{"user=-1"}},
		"a fraction":               {sign(t, rsaKey, "r1", numbers("42.0")), nil},
		"an exponent":              {sign(t, rsaKey, "r1", numbers("4e1")), nil},
		"minus zero":               {sign(t, rsaKey, "r1", numbers("-0")), nil},
	} {
		got, err := r.Read(request("Authorization", "Bearer "+c.token), nil)
		if diff := cmp.Diff(Found{Subjects: c.want}, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A dot in a claim leads into an object, unless it is a part of a name.
func TestRead_nestedClaims(t *testing.T) {
	path := keyFile(t)
	tests := []struct {
		name, claim string
		payload     object
		want        string
	}{
		{"in an object", "app_metadata.plan", object{"app_metadata": object{"plan": "pro"}}, "pro"},
		{"in objects", "a.b.c", object{"a": object{"b": object{"c": 7}}}, "7"},
		{"a URL", "https://example.com/tenant", object{"https://example.com/tenant": "acme"}, "acme"},
		{"below a URL", "https://example.com/app.plan", object{"https://example.com/app": object{"plan": "pro"}}, "pro"},
		{"a name with a dot", "a.b", object{"a.b": "name", "a": object{"b": "path"}}, "name"},
		{"a name with a dot that is null", "a.b", object{"a.b": json.RawMessage("null"), "a": object{"b": "path"}}, ""},
		{"a name with a dot and a list", "a.b", object{"a.b": []string{"x"}, "a": object{"b": "path"}}, ""},
		{"the longest name", "a.b.c", object{"a.b": object{"c": "long"}, "a": object{"b.c": "short", "b": object{"c": "short"}}}, "long"},
		{"a name with a dot in an object", "a.b.c", object{"a": object{"b.c": "name", "b": object{"c": "path"}}}, "name"},
		{"no object on the way", "sub.id", object{}, ""},
		{"a list on the way", "a.0", object{"a": []string{"x"}}, ""},
		{"null on the way", "a.b", object{"a": json.RawMessage("null")}, ""},
		{"a name twice on the way", "a.b", object{"a": json.RawMessage(`{"b":"x","b":"y"}`)}, ""},
		{"an object at the end", "a.b", object{"a": object{"b": object{"c": "x"}}}, ""},
		{"an empty name", "a..b", object{"a": object{"": object{"b": "x"}}}, ""},
		{"dots alone", "...", object{"a": "x"}, ""},
	}
	for _, c := range tests {
		r := mustNew(t, Options{}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: path, Claim: c.claim}}})
		got, err := r.Read(bearer(t, valid(c.payload)), nil)
		if text := strings.TrimPrefix(got.Subject("user"), "user="); text != c.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", c.name, text, err, c.want)
		}
	}
}

// Of a list, the value that counts is the first in the order of the config, not in that of the token.
func TestRead_listsOfClaims(t *testing.T) {
	r := mustNew(t, Options{}, one{name: "tier", Identity: Identity{JWT: &JWT{Keys: keyFile(t), Claim: "realm.roles"}, OneOf: []string{"enterprise", "pro", "7"}}})
	for name, c := range map[string]struct {
		roles any
		want  string
	}{
		"one":                    {[]string{"pro"}, "tier=pro"},
		"the best last":          {[]string{"pro", "admin", "enterprise"}, "tier=enterprise"},
		"the best first":         {[]string{"enterprise", "pro"}, "tier=enterprise"},
		"none of them":           {[]string{"admin"}, ""},
		"an empty list":          {[]string{}, ""},
		"text":                   {"pro", "tier=pro"},
		"other text":             {"admin", ""},
		"joined text":            {"pro enterprise", ""},
		"another case":           {[]string{"PRO"}, ""},
		"a number":               {[]any{7}, "tier=7"},
		"values of other types":  {[]any{nil, true, 1.5, []string{"enterprise"}, object{"enterprise": true}, "", "pro"}, "tier=pro"},
		"an object":              {object{"pro": true}, ""},
		"null":                   {json.RawMessage("null"), ""},
		"as many as a token has": {append(slices.Repeat([]string{"x"}, 2000), "pro"), "tier=pro"},
	} {
		got, err := r.Read(bearer(t, valid(object{"realm": object{"roles": c.roles}})), nil)
		if got.Subject("tier") != c.want || err != nil {
			t.Errorf("%s: got %+v, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestRead_invalidTokensIdentifyNothing(t *testing.T) {
	r := tokenReader(t)
	good := sign(t, rsaKey, "r1", valid())
	parts := strings.Split(good, ".")
	body := text(t, valid())
	der, err := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	own := jose.JSONWebKey{Key: &otherKey.PublicKey, KeyID: "r1"}
	encrypted := func(payload []byte) string {
		encrypter, err := jose.NewEncrypter(jose.A128CBC_HS256, jose.Recipient{Algorithm: jose.RSA_OAEP, Key: &rsaKey.PublicKey}, nil)
		if err != nil {
			t.Fatal(err)
		}
		jwe, err := encrypter.Encrypt(payload)
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwe.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for name, token := range map[string]string{
		"alg none":                              raw(`{"alg":"none"}`, body, nil),
		"alg none with a kid":                   raw(`{"alg":"none","kid":"r1"}`, body, nil),
		"alg None":                              raw(`{"alg":"None","kid":"r1"}`, body, nil),
		"alg none with a signature":             strings.Join([]string{strings.Split(raw(`{"alg":"none","kid":"r1"}`, "", nil), ".")[0], parts[1], parts[2]}, "."),
		"no alg":                                raw(`{"kid":"r1"}`, body, nil),
		"an empty alg":                          raw(`{"alg":"","kid":"r1"}`, body, nil),
		"alg is a number":                       raw(`{"alg":1,"kid":"r1"}`, body, nil),
		"two algs":                              byHand(secretKey, `{"alg":"RS256","alg":"HS256","kid":"s1"}`, body),
		"no signature":                          parts[0] + "." + parts[1] + ".",
		"HS256 with the public key as PEM":      byHand(asPEM, `{"alg":"HS256","kid":"r1"}`, body),
		"HS256 with the public key as DER":      byHand(der, `{"alg":"HS256","kid":"r1"}`, body),
		"HS256 with the modulus":                byHand(rsaKey.N.Bytes(), `{"alg":"HS256","kid":"r1"}`, body),
		"HS256 with an empty secret":            byHand(nil, `{"alg":"HS256","kid":"s1"}`, body),
		"HS256 without a kid, public key":       byHand(asPEM, `{"alg":"HS256"}`, body),
		"HS384 with a secret that is too short": strings.Join([]string{strings.Split(raw(`{"alg":"HS384","kid":"s1"}`, "", nil), ".")[0], parts[1], parts[2]}, "."),
		"the kid of an EC key":                  sign(t, rsaKey, "e1", valid()),
		"the kid of a shared secret":            sign(t, rsaKey, "s1", valid()),
		"a shared secret under an RSA kid":      sign(t, secretKey, "r1", valid()),
		"an unknown kid":                        sign(t, rsaKey, "r2", valid()),
		"a kid that is a path":                  sign(t, rsaKey, "../../dev/null", valid()),
		"a kid that is SQL":                     sign(t, rsaKey, "r1' OR '1'='1", valid()),
		"a kid of 10 kB":                        sign(t, rsaKey, strings.Repeat("k", 10_000), valid()),
		"a kid that is a number":                raw(`{"alg":"RS256","kid":1}`, body, nil),
		"another key":                           sign(t, otherKey, "r1", valid()),
		"another key without a kid":             signWith(t, otherKey, jose.RS256, nil, valid()),
		"its own key as jwk":                    signWith(t, otherKey, jose.RS256, object{"kid": "r1", "jwk": own}, valid()),
		"its own key as jwk, without a kid":     signWith(t, otherKey, jose.RS256, object{"jwk": own}, valid()),
		"its own keys as jku":                   signWith(t, otherKey, jose.RS256, object{"kid": "r1", "jku": "https://evil.example/jwks.json"}, valid()),
		"its own certificate as x5u":            signWith(t, otherKey, jose.RS256, object{"kid": "r1", "x5u": "https://evil.example/cert.pem"}, valid()),
		"its own certificate as x5c":            signWith(t, otherKey, jose.RS256, object{"kid": "r1", "x5c": []string{"MIIB"}}, valid()),
		"crit":                                  signWith(t, rsaKey, jose.RS256, object{"kid": "r1", "crit": []string{"exp"}, "exp": 1}, valid()),
		"crit of b64":                           signWith(t, secretKey, jose.HS256, object{"kid": "s1", "crit": []string{"b64"}, "b64": true}, valid()),
		"an empty crit":                         byHand(secretKey, `{"alg":"HS256","kid":"s1","crit":[]}`, body),
		"b64 without crit":                      byHand(secretKey, `{"alg":"HS256","kid":"s1","b64":true}`, body),
		"expired":                               sign(t, rsaKey, "r1", valid(object{"exp": time.Now().Unix() - 40})),
		"expired in 1970":                       sign(t, rsaKey, "r1", valid(object{"exp": 0})),
		"expired before 1970":                   sign(t, rsaKey, "r1", valid(object{"exp": -1e18})),
		"an expiry beyond all time":             sign(t, rsaKey, "r1", valid(object{"exp": 1e30})),
		"no exp":                                sign(t, rsaKey, "r1", valid(object{"exp": nil})),
		"exp is null":                           sign(t, rsaKey, "r1", strings.Replace(text(t, valid(object{"exp": 0})), `"exp":0`, `"exp":null`, 1)),
		"exp is text":                           sign(t, rsaKey, "r1", valid(object{"exp": fmt.Sprint(time.Now().Unix() + 60)})),
		"EXP in capitals":                       sign(t, rsaKey, "r1", valid(object{"exp": nil, "EXP": time.Now().Unix() + 60})),
		"not yet valid":                         sign(t, rsaKey, "r1", valid(object{"nbf": time.Now().Unix() + 60})),
		"not valid until the end of time":       sign(t, rsaKey, "r1", valid(object{"nbf": 9.2e18})),
		"issued later":                          sign(t, rsaKey, "r1", valid(object{"iat": time.Now().Unix() + 60})),
		"another issuer":                        sign(t, rsaKey, "r1", valid(object{"iss": "https://evil.example"})),
		"an issuer with a slash more":           sign(t, rsaKey, "r1", valid(object{"iss": "https://id.example/"})),
		"no issuer":                             sign(t, rsaKey, "r1", valid(object{"iss": nil})),
		"two issuers":                           sign(t, rsaKey, "r1", valid(object{"iss": []string{"https://id.example"}})),
		"another audience":                      sign(t, rsaKey, "r1", valid(object{"aud": "web"})),
		"a part of the audience":                sign(t, rsaKey, "r1", valid(object{"aud": "chat2"})),
		"no audience":                           sign(t, rsaKey, "r1", valid(object{"aud": nil})),
		"an empty audience":                     sign(t, rsaKey, "r1", valid(object{"aud": []string{}})),
		"an audience of numbers":                sign(t, rsaKey, "r1", valid(object{"aud": []any{1, "chat"}})),
		"a claim twice":                         sign(t, rsaKey, "r1", strings.Replace(body, `"sub":`, `"sub":"41","sub":`, 1)),
		"a claim twice, once escaped":           sign(t, rsaKey, "r1", strings.Replace(body, `"sub":`, `"\u0073ub":"41","sub":`, 1)),
		"claims with invalid UTF-8":             sign(t, rsaKey, "r1", strings.Replace(body, "acme", "\xff", 1)),
		"claims that are a list":                sign(t, rsaKey, "r1", "[]"),
		"claims that are null":                  sign(t, rsaKey, "r1", "null"),
		"claims that are text":                  sign(t, rsaKey, "r1", `"42"`),
		"no claims":                             sign(t, rsaKey, "r1", ""),
		"claims and more":                       sign(t, rsaKey, "r1", body+"{}"),
		"12,000 levels":                         sign(t, rsaKey, "r1", strings.Repeat("[", 12_000)),
		"a token of 1 MB":                       sign(t, rsaKey, "r1", valid(object{"x": strings.Repeat("x", 1<<20)})),
		"16 KiB and one":                        good + strings.Repeat("A", maxToken+1-len(good)),
		"a JWE":                                 encrypted([]byte(body)),
		"a JWE of a token":                      encrypted([]byte(good)),
		"a token of a JWE":                      signWith(t, rsaKey, jose.RS256, object{"kid": "r1", "cty": "JWT"}, encrypted([]byte(body))),
		"a token of a token":                    signWith(t, rsaKey, jose.RS256, object{"kid": "r1", "cty": "JWT"}, good),
		"five segments":                         good + "." + parts[1] + "." + parts[2],
		"four segments":                         good + ".",
		"two segments":                          parts[0] + "." + parts[1],
		"one segment":                           parts[0],
		"dots":                                  "..",
		"the JSON form":                         fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1], parts[2]),
		"a changed payload":                     parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(body, "42", "43", 1))) + "." + parts[2],
		"a changed header":                      raw(`{"alg":"RS512","kid":"r1"}`, "", nil)[:10] + "." + parts[1] + "." + parts[2],
		"a cut signature":                       good[:len(good)-4],
		"padding":                               good + "=",
		"standard base64":                       parts[0] + "." + parts[1] + "." + strings.NewReplacer("-", "+", "_", "/").Replace(parts[2]) + "+/",
		"a comma list":                          good + ", " + good,
		"quoted":                                `"` + good + `"`,
		"zero ES256 signature":                  strings.Join([]string{strings.Split(raw(`{"alg":"ES256","kid":"e1"}`, "", nil), ".")[0], parts[1], base64.RawURLEncoding.EncodeToString(make([]byte, 64))}, "."),
	} {
		got, err := r.Read(request("Authorization", "Bearer "+token), nil)
		if diff := cmp.Diff(Found{}, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestRead_tokenSources(t *testing.T) {
	path := keyFile(t)
	bearer := mustNew(t, Options{}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: path}}})
	named := mustNew(t, Options{}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: path, Header: "X-Token"}}})
	cookie := mustNew(t, Options{}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: path, Cookie: "token"}}})
	token, other, same, expired := sign(t, rsaKey, "r1", valid()), sign(t, rsaKey, "r1", valid(object{"sub": "43"})),
		sign(t, rsaKey, "r1", valid(object{"jti": "2"})), sign(t, rsaKey, "r1", valid(object{"exp": 1}))
	many := []string{}
	for i := range 9 {
		many = append(many, "Authorization", fmt.Sprint("Bearer ", i))
	}
	const found, none, ambiguous = "user=42", "", "ambiguous"
	for _, c := range []struct {
		name    string
		r       *Reader
		headers []string
		want    string
	}{
		{"bearer", bearer, []string{"Authorization", "Bearer " + token}, found},
		{"in lower case", bearer, []string{"Authorization", "bearer  " + token + " "}, found},
		{"with a tab", bearer, []string{"Authorization", "Bearer\t" + token}, found},
		{"with a space of Latin-1", bearer, []string{"Authorization", "Bearer\xa0" + token + "\xa0"}, found},
		{"behind another scheme in its line", bearer, []string{"Authorization", "Basic eDp5, bEARER " + token}, found},
		{"without the scheme", bearer, []string{"Authorization", token}, none},
		{"another scheme", bearer, []string{"Authorization", "Basic " + token}, none},
		{"the scheme alone", bearer, []string{"Authorization", "Bearer"}, none},
		{"an empty token", bearer, []string{"Authorization", "Bearer  "}, none},
		{"in another header", bearer, []string{"X-Token", token}, none},
		{"with another scheme beside it", bearer, []string{"Authorization", "Basic eDp5", "Authorization", "Bearer " + token}, found},
		{"once more empty", bearer, []string{"Authorization", "", "Authorization", "Bearer " + token}, found},
		{"twice the same", bearer, []string{"Authorization", "Bearer " + token, "Authorization", "Bearer " + token}, found},
		{"an invalid one before", bearer, []string{"Authorization", "Bearer x.y.z", "Authorization", "Bearer " + token}, found},
		{"an expired one behind", bearer, []string{"Authorization", "Bearer " + token, "Authorization", "Bearer " + expired}, found},
		{"of two users", bearer, []string{"Authorization", "Bearer " + token, "Authorization", "Bearer " + other}, ambiguous},
		{"two of one user", bearer, []string{"Authorization", "Bearer " + token, "Authorization", "Bearer " + same}, ambiguous},
		{"nine", bearer, many, ambiguous},
		{"named", named, []string{"X-Token", token}, found},
		{"named with the scheme", named, []string{"X-Token", "Bearer " + token}, found},
		{"named with any scheme", named, []string{"X-Token", "DPoP " + token}, found},
		{"named, and the default", named, []string{"Authorization", "Bearer " + token}, none},
		{"a cookie", cookie, []string{"Cookie", "a=b; token=" + token}, found},
		{"two cookies", cookie, []string{"Cookie", "token=" + token + "; token=" + other}, ambiguous},
	} {
		got, err := c.r.Read(request(c.headers...), nil)
		text := got.Subject("user")
		if errors.Is(err, ErrAmbiguous) {
			text, err = ambiguous, nil
		}
		if text != c.want || err != nil {
			t.Errorf("%s: got %q, %+v, %v", c.name, text, got, err)
		}
	}
}

// A key verifies only its own alg, and Read tries at most 8 keys for a token without a kid.
func TestVerification_limitsKeysPerToken(t *testing.T) {
	only384 := jwk(rsaKey, "r1")
	only384.Algorithm = "RS384"
	nine := []jose.JSONWebKey{jwk(ecKey, "e1")}
	for i := range 8 {
		nine = append(nine, jwk(rsaKey, fmt.Sprint(i)))
	}
	for name, c := range map[string]struct {
		keys  string
		token string
		want  bool
	}{
		"the alg of the key":         {jwks(t, only384), signWith(t, rsaKey, jose.RS384, object{"kid": "r1"}, valid()), true},
		"another alg of its type":    {jwks(t, only384), signWith(t, rsaKey, jose.RS256, object{"kid": "r1"}, valid()), false},
		"another padding":            {jwks(t, only384), signWith(t, rsaKey, jose.PS384, object{"kid": "r1"}, valid()), false},
		"any kid, for a key in PEM":  {pemOf(t, rsaKey), sign(t, rsaKey, "any", valid()), true},
		"no kid, 8 keys":             {jwks(t, nine[:8]...), signWith(t, ecKey, jose.ES256, nil, valid()), true},
		"no kid, 9 keys":             {jwks(t, nine...), signWith(t, ecKey, jose.ES256, nil, valid()), false},
		"a kid, 9 keys":              {jwks(t, nine...), sign(t, ecKey, "e1", valid()), true},
		"a kid that two keys have":   {jwks(t, jwk(otherKey, "a"), jwk(rsaKey, "a")), sign(t, rsaKey, "a", valid()), true},
		"HS256 with the PEM as text": {pemOf(t, rsaKey), byHand([]byte(pemOf(t, rsaKey)), `{"alg":"HS256"}`, text(t, valid())), false},
	} {
		from := &keySource{}
		if err := from.set([]byte(c.keys), true); err != nil {
			t.Fatal(err)
		}
		v := &verification{keys: from, cache: newTokenCache()}
		if _, ok := v.verify(c.token, time.Now()); ok != c.want {
			t.Errorf("%s: got %v", name, ok)
		}
	}
}

func (c *tokenCache) otter() *otter.Cache[tokenID, *cachedToken] {
	return c.store.(*otter.Cache[tokenID, *cachedToken])
}

// cached returns the number of tokens in the reader's cache.
func cached(r *Reader) int {
	r.tokens.otter().CleanUp()
	return r.tokens.otter().EstimatedSize()
}

func TestTokenCache_expiresWithTheTokenOrAfterFiveMinutes(t *testing.T) {
	r := tokenReader(t)
	now := time.Now().Truncate(time.Second)
	r.now = func() time.Time { return now }
	long := sign(t, rsaKey, "r1", valid(object{"exp": now.Add(time.Hour).Unix()}))
	short := sign(t, rsaKey, "r1", valid(object{"sub": "43", "exp": now.Add(time.Minute).Unix()}))
	users := func() (all string) {
		for _, token := range []string{long, short} {
			found, err := r.Read(request("Authorization", "Bearer "+token), nil)
			if err != nil {
				t.Fatal(err)
			}
			all += found.Subject("user") + " "
		}
		return all
	}
	entry := func(token string) *cachedToken {
		e, _ := r.tokens.store.GetIfPresent(tokenID{0, sha256.Sum256([]byte(token))})
		return e
	}
	start := now
	for _, step := range []struct {
		at   time.Duration
		want string
		kept bool // the long token is still cached from the previous step
	}{
		{0, "user=42 user=43 ", false},
		{time.Minute, "user=42 user=43 ", true},
		{90 * time.Second, "user=42 user=43 ", true}, // exp and the leeway of 30 s
		{90*time.Second + 1, "user=42  ", true},
		{5 * time.Minute, "user=42  ", true},
		{5*time.Minute + 1, "user=42  ", false}, // verified again
		{0, "user=42 user=43 ", true},           // the clock is set back
		{time.Hour + 31*time.Second, "  ", false},
	} {
		before := entry(long)
		now = start.Add(step.at)
		if got := users(); got != step.want {
			t.Errorf("at %v: got %q, want %q", step.at, got, step.want)
		}
		if got := before != nil && entry(long) == before; got != step.kept {
			t.Errorf("at %v: from the cache: %v", step.at, got)
		}
	}
	if n := cached(r); n > 1 {
		t.Errorf("%d tokens are cached after their end", n)
	}
}

// After a reload, tokens of removed keys are invalid and tokens of added keys are valid.
func TestTokenCache_followsTheKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jwks.json")
	write(t, path, jwks(t, jwk(rsaKey, "r1")), 0)
	r := mustNew(t, Options{}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: path}}})
	old, new := sign(t, rsaKey, "r1", valid()), sign(t, ecKey, "e1", valid(object{"sub": "43"}))
	users := func() string {
		a, _ := r.Read(request("Authorization", "Bearer "+old), nil)
		b, _ := r.Read(request("Authorization", "Bearer "+new), nil)
		return a.Subject("user") + " " + b.Subject("user")
	}
	rotate := func(content string) {
		t.Helper()
		if err := os.WriteFile(path+"~", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
		r.poll(time.Now().Add(time.Second))
	}
	both := jwks(t, jwk(rsaKey, "r1"), jwk(ecKey, "e1"))
	for i, step := range []struct{ keys, want string }{
		{jwks(t, jwk(rsaKey, "r1")), "user=42 "},
		{both, "user=42 user=43"},
		{jwks(t, jwk(ecKey, "e1")), " user=43"},
		{both, "user=42 user=43"},
		{jwks(t, jwk(otherKey, "r1")), " "}, // another key with the same ID
		{"no keys at all", " "},             // the old keys stay in use
	} {
		rotate(step.keys)
		for range 2 { // the second time from the cache
			if got := users(); got != step.want {
				t.Errorf("step %d: got %q, want %q", i+1, got, step.want)
			}
		}
	}
}

// A client that makes tokens up evicts none that are valid.
func TestTokenCache_refusedTokensEvictNone(t *testing.T) {
	r := tokenReader(t)
	good := sign(t, rsaKey, "r1", valid())
	for i := range 200 {
		for _, token := range []string{
			fmt.Sprintf("a.%d.c", i), good[:len(good)-4] + fmt.Sprintf("%04d", i), raw(`{"alg":"none"}`, fmt.Sprint(i), nil),
			byHand(secretKey, `{"alg":"HS256","kid":"s1"}`, fmt.Sprintf(`{"exp":%d}`, i)), strings.Repeat("x", i*100),
		} {
			if found, err := r.Read(request("Authorization", "Bearer "+token), nil); err != nil || len(found.Subjects) > 0 {
				t.Fatalf("%.60s: %v, %v", token, found.Subjects, err)
			}
		}
	}
	if n := cached(r); n != 0 {
		t.Errorf("%d invalid tokens are cached as valid ones", n)
	}
}

// A countingKey counts the signatures that are verified with it.
type countingKey struct{ verified *int }

func (k countingKey) VerifyPayload([]byte, []byte, jose.SignatureAlgorithm) error {
	*k.verified++
	return errors.New("another key signed it")
}

// The signatures that a request has verified are at most three times those of one token.
func TestRead_boundsTheSignaturesOfARequest(t *testing.T) {
	lines := func(n int, kid string) (all []string) {
		header := object{}
		if kid != "" {
			header["kid"] = kid
		}
		for i := range n {
			all = append(all, "Authorization", "Bearer "+signWith(t, otherKey, jose.RS256, header, valid(object{"jti": fmt.Sprint(i)})))
		}
		return all
	}
	with := func(kids ...string) *[]key {
		keys := make([]key, len(kids))
		for i, kid := range kids {
			keys[i] = key{id: kid, algorithms: algorithms}
		}
		return &keys
	}
	for _, c := range []struct {
		what    string
		keys    *[]key
		headers []string
		want    int
	}{
		{"a token", with("a", "b"), lines(1, "a"), 1},
		{"a token without a kid", with("a", "b", "c", "d", "e", "f", "g", "h"), lines(1, ""), 8},
		{"three", with("a", "b"), lines(3, "a"), 3},
		{"three without a kid", with("a", "b", "c", "d", "e", "f", "g", "h"), lines(3, ""), 24},
		{"a kid, and 64 keys without", with(make([]string, 64)...), lines(1, "a"), 8},
		{"a kid that 64 keys have", with(strings.Split(strings.Repeat("a ", 63)+"a", " ")...), lines(1, "a"), 8},
		{"four", with("a"), lines(4, "a"), 0},
		{"eight without a kid", with("a", "b", "c", "d", "e", "f", "g", "h"), lines(8, ""), 0},
	} {
		r, verified := tokenReader(t), 0
		for i := range *c.keys {
			(*c.keys)[i].key = countingKey{&verified}
		}
		r.verifications[0].keys.keys.Store(c.keys)
		found, err := r.Read(request(c.headers...), nil)
		if len(found.Subjects) > 0 || verified != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %d signatures, want %d: %+v, %v", c.what, verified, c.want, found, err)
		}
	}
}

// Many tokens, short or with claims of 8 KiB, take no more than the cache's share, and those in use go on to count.
func TestTokenCache_isBounded(t *testing.T) {
	for _, size := range []int{8, 8 << 10} {
		c, keys := newTokenCache(), new([]key)
		now := time.Now()
		before := heap()
		for i := range 60_000 {
			if size > 8 && i == 6000 {
				break
			}
			id := tokenID{0, sha256.Sum256(fmt.Append(nil, i))}
			c.keep(id, keys, []string{fmt.Sprintf("%0*d", size, i)}, now, now.Add(time.Hour))
			if c.find(id, keys, now) == nil && i == 0 {
				t.Error("the first token is not cached")
			}
		}
		c.otter().CleanUp()
		if weight := c.otter().WeightedSize(); weight > cacheBytes || weight < cacheBytes/2 {
			t.Errorf("tokens of %d bytes weigh %d", size, weight)
		}
		took := heap() - before
		if !onpath.Raced() && took > cacheBytes*5/4 {
			t.Errorf("tokens of %d bytes take %d bytes, the bound is %d", size, took, cacheBytes)
		}
		t.Logf("%d tokens of %d bytes: %d bytes of heap", c.otter().EstimatedSize(), size, took)
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTokenCache_manyReadAtOnce(t *testing.T) {
	r := tokenReader(t)
	keys := []string{jwks(t, jwk(rsaKey, "r1")), jwks(t, jwk(rsaKey, "r1"), jwk(ecKey, "e1"))}
	token := sign(t, rsaKey, "r1", valid())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				if found, err := r.Read(request("Authorization", "Bearer "+token), nil); err != nil || found.Subject("user") != "user=42" {
					t.Errorf("%+v, %v", found, err)
				}
			}
		})
	}
	for i := range 50 {
		if err := r.verifications[0].keys.set([]byte(keys[i%2]), false); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}
