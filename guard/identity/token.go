package identity

import (
	"crypto/sha256"
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
	maxTried = 8        // keys, for a token without a kid
)

// A verification is shared by the identities that read claims of the same tokens.
type verification struct {
	JWT    // without a Claim
	claims []string
	keys   *keySource
	index  int // in Reader.verifications
	cache  *tokenCache
}

type claims map[string]json.RawMessage

// verify returns the texts of the claims of a token that is valid at now, with "" for a missing claim.
func (v *verification) verify(token string, now time.Time) ([]string, bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return nil, false
	}
	id, keys := tokenID{v.index, sha256.Sum256([]byte(token))}, v.keys.keys.Load()
	if texts, ok := v.cache.find(id, keys, now); ok {
		return texts, true
	}
	all, expiry, ok := v.prove(token, keys, now)
	if !ok {
		return nil, false
	}
	texts := make([]string, len(v.claims))
	for i, name := range v.claims {
		texts[i] = all.text(name)
	}
	v.cache.keep(id, keys, texts, now, expiry.Add(v.Leeway))
	return texts, true
}

// prove returns the claims and the expiry of a token that one of the keys signed.
func (v *verification) prove(token string, keys *[]key, now time.Time) (all claims, expiry time.Time, ok bool) {
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, expiry, false
	}
	payload, ok := v.payload(jws, keys)
	if !ok || !utf8.Valid(payload) {
		return nil, expiry, false
	}
	if json.Unmarshal(payload, &all) != nil { // duplicate claims are an error in this json package
		return nil, expiry, false
	}
	expiry, ok = v.valid(payload, now)
	return all, expiry, ok
}

// payload returns the payload that one of the keys signed; keys is nil before the first response of a URL.
func (v *verification) payload(jws *jose.JSONWebSignature, keys *[]key) ([]byte, bool) {
	header := jws.Signatures[0].Protected
	for _, extension := range []jose.HeaderKey{"crit", "b64"} { // none is supported
		if _, ok := header.ExtraHeaders[extension]; ok {
			return nil, false
		}
	}
	var set []key
	if keys != nil {
		set = *keys
	}
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
		v.keys.requestRefresh()
	}
	return nil, false
}

// valid checks the registered claims and returns the expiry.
func (v *verification) valid(payload []byte, now time.Time) (expiry time.Time, ok bool) {
	var registered struct {
		Issuer    string           `json:"iss"`
		Audience  jwt.Audience     `json:"aud"`
		Expiry    *jwt.NumericDate `json:"exp"`
		NotBefore *jwt.NumericDate `json:"nbf"`
		IssuedAt  *jwt.NumericDate `json:"iat"`
	}
	if json.Unmarshal(payload, &registered) != nil || registered.Expiry == nil {
		return expiry, false
	}
	expected := jwt.Expected{Issuer: v.Issuer, Time: now}
	if v.Audience != "" {
		expected.AnyAudience = jwt.Audience{v.Audience}
	}
	return registered.Expiry.Time(), jwt.Claims{
		Issuer: registered.Issuer, Audience: registered.Audience,
		Expiry: registered.Expiry, NotBefore: registered.NotBefore, IssuedAt: registered.IssuedAt,
	}.ValidateWithLeeway(expected, v.Leeway) == nil
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,38})$`)

// text returns a claim that is a string or a whole number, and "" for any other.
func (c claims) text(name string) string {
	raw, ok := c[name]
	if !ok {
		return ""
	}
	if wholeNumber.Match(raw) {
		return string(raw)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || strings.ContainsRune(text, utf8.RuneError) { // U+FFFD stands for any half of a surrogate pair
		return ""
	}
	return text
}
