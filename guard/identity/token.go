package identity

import (
	"crypto/sha256"
	"errors"
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
	maxToken  = 16 << 10 // bytes
	maxTokens = 3        // different ones of a request
	maxTried  = 8        // keys, for one token
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
		return texts, texts != nil
	}
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, false
	}
	payload, tried, known := v.payload(jws, keys)
	if !known {
		v.keys.requestRefresh()
	}
	if tried == 0 {
		return nil, false
	}
	var all claims
	expiry, begins := now, never
	if !known {
		begins = now.Add(minPause) // the next keys of a URL may verify it
	}
	ok := utf8.Valid(payload) && json.Unmarshal(payload, &all) == nil // duplicate claims are an error in this json package
	if ok {
		expiry, begins, ok = v.valid(payload, now)
	}
	if !ok {
		v.cache.refuse(id, keys, now, begins)
		return nil, false
	}
	texts := make([]string, len(v.claims))
	for i, name := range v.claims {
		texts[i] = all.text(name)
	}
	v.cache.keep(id, keys, texts, now, expiry.Add(v.Leeway))
	return texts, true
}

// payload returns the payload that one of the keys signed, nil without one, how many it tried, and whether one has the kid of the token.
// keys is nil before the first response of a URL.
func (v *verification) payload(jws *jose.JSONWebSignature, keys *[]key) (payload []byte, tried int, known bool) {
	header := jws.Signatures[0].Protected
	for _, extension := range []jose.HeaderKey{"crit", "b64"} { // none is supported
		if _, ok := header.ExtraHeaders[extension]; ok {
			return nil, 0, true
		}
	}
	var set []key
	if keys != nil {
		set = *keys
	}
	if header.KeyID == "" && len(set) > maxTried {
		return nil, 0, true
	}
	known = header.KeyID == ""
	for i := range set {
		key := &set[i]
		if key.id != "" && header.KeyID != "" && key.id != header.KeyID {
			continue
		}
		known = known || key.id == header.KeyID
		if !slices.Contains(key.algorithms, jose.SignatureAlgorithm(header.Algorithm)) || tried == maxTried {
			continue
		}
		tried++
		if payload, err := jws.Verify(key.key); err == nil {
			return payload, tried, true
		}
	}
	return nil, tried, known
}

// never is when a token begins to be valid that is not.
var never = time.Unix(1<<40, 0)

// valid checks the registered claims. It returns the expiry, and when a token that is not valid begins to be.
func (v *verification) valid(payload []byte, now time.Time) (expiry, begins time.Time, ok bool) {
	var registered struct {
		Issuer    string           `json:"iss"`
		Audience  jwt.Audience     `json:"aud"`
		Expiry    *jwt.NumericDate `json:"exp"`
		NotBefore *jwt.NumericDate `json:"nbf"`
		IssuedAt  *jwt.NumericDate `json:"iat"`
	}
	if json.Unmarshal(payload, &registered) != nil || registered.Expiry == nil {
		return expiry, never, false
	}
	expected := jwt.Expected{Issuer: v.Issuer, Time: now}
	if v.Audience != "" {
		expected.AnyAudience = jwt.Audience{v.Audience}
	}
	err := jwt.Claims{
		Issuer: registered.Issuer, Audience: registered.Audience,
		Expiry: registered.Expiry, NotBefore: registered.NotBefore, IssuedAt: registered.IssuedAt,
	}.ValidateWithLeeway(expected, v.Leeway)
	begins = never
	switch {
	case errors.Is(err, jwt.ErrNotValidYet):
		begins = registered.NotBefore.Time().Add(-v.Leeway)
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		begins = registered.IssuedAt.Time().Add(-v.Leeway)
	}
	return registered.Expiry.Time(), begins, err == nil
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
