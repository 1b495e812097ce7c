package identity

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	maxToken = 16 << 10 // bytes
	maxTried = 8        // keys, for a token that names none
)

// A verification is what several identities ask of the same tokens.
type verification struct {
	JWT  // without a Claim
	keys *keySource
}

type claims map[string]json.RawMessage

// verify returns the claims of a valid token. now is the time to hold it against.
func (v *verification) verify(token string, now time.Time) (claims, bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return nil, false
	}
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, false
	}
	payload, ok := v.payload(jws)
	if !ok || !utf8.Valid(payload) {
		return nil, false
	}
	var all claims // an object with a claim twice is an error in this json package
	if json.Unmarshal(payload, &all) != nil {
		return nil, false
	}
	return all, v.valid(payload, now)
}

// payload returns what a known key signed.
func (v *verification) payload(jws *jose.JSONWebSignature) ([]byte, bool) {
	header := jws.Signatures[0].Protected
	for _, extension := range []jose.HeaderKey{"crit", "b64"} { // none is supported
		if _, ok := header.ExtraHeaders[extension]; ok {
			return nil, false
		}
	}
	set := v.keys.load()
	if header.KeyID == "" && len(set) > maxTried {
		return nil, false
	}
	known := header.KeyID == ""
	for i := range set {
		key := &set[i]
		if key.id != "" && header.KeyID != "" && key.id != header.KeyID {
			continue
		}
		known = known || key.id == header.KeyID
		if !slices.Contains(key.algorithms, jose.SignatureAlgorithm(header.Algorithm)) {
			continue
		}
		if payload, err := jws.Verify(key.key); err == nil {
			return payload, true
		}
	}
	if !known {
		v.keys.want()
	}
	return nil, false
}

// valid checks the registered claims.
func (v *verification) valid(payload []byte, now time.Time) bool {
	var registered struct {
		Issuer    string           `json:"iss"`
		Audience  jwt.Audience     `json:"aud"`
		Expiry    *jwt.NumericDate `json:"exp"`
		NotBefore *jwt.NumericDate `json:"nbf"`
		IssuedAt  *jwt.NumericDate `json:"iat"`
	}
	if json.Unmarshal(payload, &registered) != nil || registered.Expiry == nil {
		return false
	}
	expected := jwt.Expected{Issuer: v.Issuer, Time: now}
	if v.Audience != "" {
		expected.AnyAudience = jwt.Audience{v.Audience}
	}
	return jwt.Claims{
		Issuer: registered.Issuer, Audience: registered.Audience,
		Expiry: registered.Expiry, NotBefore: registered.NotBefore, IssuedAt: registered.IssuedAt,
	}.ValidateWithLeeway(expected, v.Leeway) == nil
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,38})$`)

// text returns a claim that is a string or a whole number; "" for any other.
func (c claims) text(name string) string {
	raw, ok := c[name]
	if !ok {
		return ""
	}
	if wholeNumber.Match(raw) {
		return string(raw)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || strings.ContainsRune(text, utf8.RuneError) { // U+FFFD: half of a surrogate pair, which any other would equal
		return ""
	}
	return text
}
