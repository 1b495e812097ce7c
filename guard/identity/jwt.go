package identity

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/maypok86/otter/v2"
)

// A JWT reads a claim of a signed token (RFC 7519). A request lacks the identity if its token is malformed, not signed by one
// of the keys, expired, not yet valid, without exp, or of another issuer or audience. Two different valid tokens in one
// request are ErrAmbiguous. Identities that differ only in Claim share one verification.
//
// A Reader caches valid tokens by SHA-256 for at most 5 min, and no longer than they and their keys are valid: when a reload
// removes a key, its tokens end. The cache holds 8 MiB. A token is tried with at most 8 keys, and more than 3 different tokens in a request are ErrAmbiguous.
//
// A Reader reloads a file of keys within 2 s after a change. It fetches a URL every 15 min, and at most every 30 s for tokens
// with an unknown kid. If that fails, the old keys stay in use. No token is valid before the first response of a URL.
//
// The keys, not the token, determine the allowed algorithms: a key verifies its own alg, or those of its type if it has none.
type JWT struct {
	// Claim is the name of a claim whose value is text or a whole number; other types count as missing. A dot leads into an object, as in
	// realm_access.roles, unless the token has a claim whose name has the dot. Required in a policy; in Go it defaults to sub.
	Claim string `yaml:"claim" policy:"required,is=claim"`
	// Keys is a file or an https URL of a JWKS (RFC 7517; http only for loopback addresses), or a file with public keys in PEM. Only files
	// may hold shared secrets (kty oct). Required in one jwt of a policy.
	Keys string `yaml:"keys" policy:"is=path"`
	// Issuer is the required value of iss. Defaults to any.
	Issuer string `yaml:"issuer" policy:"is=path"`
	// Audience is a required entry of aud. Set it if the issuer also signs tokens for other services. Defaults to any.
	Audience string `yaml:"audience" policy:"is=path"`
	// Header is the name of the header with the token: behind Bearer in Authorization, behind any scheme or none in another. Defaults to Authorization,
	// unless the token is in a cookie.
	Header string `yaml:"header" policy:"is=header"`
	// Cookie is the name of the cookie with the token. Defaults to none.
	Cookie string `yaml:"cookie" policy:"is=header"`
}

// complete returns the token with defaults and canonical names.
func (j JWT) complete() JWT {
	if j.Cookie == "" {
		j.Header = http.CanonicalHeaderKey(cmp.Or(j.Header, "Authorization"))
	}
	j.Claim = cmp.Or(j.Claim, "sub")
	return j
}

// tokens adds the tokens of a request.
func (j *JWT) tokens(v *values, r *http.Request) {
	if j.addTokens(v, r); v.n > maxTokens {
		v.ambiguous = fmt.Sprintf("more than %d different tokens", maxTokens)
	}
}

func (j *JWT) addTokens(v *values, r *http.Request) {
	if j.Cookie != "" {
		v.cookie(r, j.Cookie)
		return
	}
	for _, line := range r.Header[j.Header] {
		eachCredentials(line, func(value string) {
			scheme, token := cutScheme(value)
			if j.Header != "Authorization" || strings.EqualFold(scheme, "Bearer") {
				v.add(token)
			}
		})
	}
}

const (
	maxToken  = 16 << 10 // bytes
	maxTokens = 3        // different ones of a request
	maxTried  = 8        // keys, for one token

	leeway = 30 * time.Second // the tolerated difference between clocks
)

// A verification is shared by the identities that read claims of the same tokens.
type verification struct {
	JWT    // without a Claim
	claims []claim
	keys   *keySource
	index  int // in Reader.verifications
	cache  *tokenCache
}

// A claim is what an identity reads of a token.
type claim struct {
	path  string
	oneOf []string // nil for any value
}

type claims map[string]json.RawMessage

// verify returns the texts of the claims of a token that is valid at now, with "" for a missing claim.
func (v *verification) verify(token string, now time.Time) ([]string, bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return nil, false
	}
	id, keys := tokenID{v.index, sha256.Sum256([]byte(token))}, v.keys.keys.Load()
	if texts := v.cache.find(id, keys, now); texts != nil {
		return texts, true
	}
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, false
	}
	payload, known := v.payload(jws, keys)
	if !known {
		v.keys.requestRefresh()
	}
	var all claims
	if !utf8.Valid(payload) || json.Unmarshal(payload, &all) != nil { // duplicate claims are an error in this json package
		return nil, false
	}
	expiry, ok := v.valid(payload, now)
	if !ok {
		return nil, false
	}
	texts := make([]string, len(v.claims))
	for i, c := range v.claims {
		if raw := all.at(c.path); len(c.oneOf) == 0 {
			texts[i] = claimText(raw)
		} else {
			texts[i] = bestOf(c.oneOf, raw)
		}
	}
	v.cache.keep(id, keys, texts, now, expiry.Add(leeway))
	return texts, true
}

// payload returns the payload that one of the keys signed, nil without one, and whether one has the kid of the token. keys is nil before the first response of a URL.
func (v *verification) payload(jws *jose.JSONWebSignature, keys *[]key) (payload []byte, known bool) {
	header := jws.Signatures[0].Protected
	for _, extension := range []jose.HeaderKey{"crit", "b64"} { // none is supported
		if _, ok := header.ExtraHeaders[extension]; ok {
			return nil, true
		}
	}
	var set []key
	if keys != nil {
		set = *keys
	}
	if header.KeyID == "" && len(set) > maxTried {
		return nil, true
	}
	tried := 0
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
			return payload, true
		}
	}
	return nil, known
}

// valid checks the registered claims, and returns the expiry.
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
	err := jwt.Claims{
		Issuer: registered.Issuer, Audience: registered.Audience,
		Expiry: registered.Expiry, NotBefore: registered.NotBefore, IssuedAt: registered.IssuedAt,
	}.ValidateWithLeeway(expected, leeway)
	return registered.Expiry.Time(), err == nil
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,38})$`)

// at returns the claim at a path, or nil. A dot leads into an object, unless it is a part of a name: the longest name that an object has is
// meant. So https://id.example/tenant is one name, and a claim a.b hides b in a.
func (c claims) at(path string) json.RawMessage {
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		raw, ok := c[path[:end]]
		if !ok {
			continue
		}
		if end == len(path) {
			return raw
		}
		var inner claims
		if json.Unmarshal(raw, &inner) != nil {
			return nil
		}
		return inner.at(path[end+1:])
	}
	return nil
}

// claimText returns a claim that is a string or a whole number, and "" for any other.
func claimText(raw json.RawMessage) string {
	if wholeNumber.Match(raw) {
		return string(raw)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || strings.ContainsRune(text, utf8.RuneError) { // U+FFFD stands for any half of a surrogate pair
		return ""
	}
	return text
}

// bestOf returns the first of some values that a claim is, or that is in its list; "" if none is.
func bestOf(values []string, raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	best := len(values)
	for _, one := range list {
		if i := slices.Index(values[:best], claimText(one)); i >= 0 {
			best = i
		}
	}
	if best == len(values) {
		return ""
	}
	return values[best]
}

const (
	maxCached  = 5 * time.Minute // before a token is verified again
	cacheBytes = 8 << 20         // of all valid tokens of a Reader
	tokenBytes = 256             // of a cached token without its claims
)

// A tokenCache holds valid tokens by SHA-256, and evicts the least used ones. It is an otter.Cache; see refusals.Cache.
type tokenCache struct {
	store interface {
		GetIfPresent(tokenID) (*cachedToken, bool)
		Set(tokenID, *cachedToken) (*cachedToken, bool)
		Invalidate(tokenID) (*cachedToken, bool)
	}
}

type tokenID struct {
	verification int
	digest       [sha256.Size]byte
}

type cachedToken struct {
	keys  *[]key // with which it was verified; with other keys, the entry is stale
	until time.Time
	texts []string
}

func newTokenCache() *tokenCache {
	return &tokenCache{otter.Must(&otter.Options[tokenID, *cachedToken]{
		MaximumWeight: cacheBytes,
		Weigher: func(_ tokenID, t *cachedToken) uint32 {
			weight := tokenBytes
			for _, text := range t.texts {
				weight += len(text)
			}
			return uint32(weight)
		},
	})}
}

// find returns the claims of a token that is valid at now, or nil, if keys are still those that verified it.
func (c *tokenCache) find(id tokenID, keys *[]key, now time.Time) []string {
	t, ok := c.store.GetIfPresent(id)
	if !ok {
		return nil
	}
	if t.keys == keys && !now.After(t.until) {
		return t.texts
	}
	c.store.Invalidate(id)
	return nil
}

// keep keeps the claims of a token until it expires.
func (c *tokenCache) keep(id tokenID, keys *[]key, texts []string, now, expires time.Time) {
	until := now.Add(maxCached)
	if expires.Before(until) {
		until = expires
	}
	c.store.Set(id, &cachedToken{keys: keys, until: until, texts: texts})
}
