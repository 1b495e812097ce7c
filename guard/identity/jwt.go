package identity

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	defaultLeeway = 30 * time.Second
	maxLeeway     = 10 * time.Minute
)

// A JWT reads a claim of a token that a key signed (RFC 7519). A request lacks the identity if its token is malformed, not
// signed by one of the keys, expired, not yet valid, without exp, or of another issuer or audience. Two different valid
// tokens in one request are ErrAmbiguous. Identities that differ by their Claim only share one verification.
//
// A Reader caches tokens that verified, by SHA-256, for 5 min at most, and no longer than they are valid and their keys stay: a key that is
// removed ends its tokens as soon as the keys are read again. The cache has 8 MiB. An invalid token is not cached.
//
// The keys, not the token, say which algorithms count: a key verifies its own alg, or those of its type where it has none.
type JWT struct {
	// Header is the header that holds the token, with or without the scheme Bearer. Defaults to Authorization, where the
	// scheme is required, unless Cookie is set.
	Header string
	// Cookie is the cookie that holds the token. Defaults to none.
	Cookie string
	// Claim is a claim at the token's top level: a string, or a whole number. Any other type counts as missing. Defaults to sub.
	Claim string
	// Keys are the keys of the issuer: the path of a file with a JWK Set (RFC 7517) or with public keys in PEM, or the https
	// URL of a JWK Set; http for loopback addresses only. Shared secrets (kty oct) count in a file only. A file is read
	// again within 2 s after a change; a URL as Options.KeyRefresh says, and for a token with an unknown kid at most every
	// 30 s. If that fails, the keys from before stay. Until the first answer of a URL no token is valid.
	Keys string
	// Issuer is the iss of valid tokens. Defaults to any.
	Issuer string
	// Audience is one of the aud of valid tokens. Set it if the issuer signs tokens for other services, too. Defaults to any.
	Audience string
	// Leeway is how far clocks may differ, at most 10 min. Defaults to 30 s.
	Leeway time.Duration
}

// complete sets defaults and canonical names, and checks.
func (j *JWT) complete() error {
	if j.Header != "" && j.Cookie != "" {
		return errors.New("JWT: set Header or Cookie, not both")
	}
	if j.Header == "" && j.Cookie == "" {
		j.Header = "Authorization"
	}
	if err := header(&j.Header, "JWT.Header"); err != nil {
		return err
	}
	if err := cookie(j.Cookie, "JWT.Cookie"); err != nil {
		return err
	}
	if j.Claim == "" {
		j.Claim = "sub"
	}
	if len(j.Claim) > maxSourceName {
		return fmt.Errorf("JWT.Claim has at most %d bytes, got %d", maxSourceName, len(j.Claim))
	}
	if j.Leeway == 0 {
		j.Leeway = defaultLeeway
	}
	if j.Leeway < 0 || j.Leeway > maxLeeway {
		return fmt.Errorf("JWT.Leeway must be 0 to %v, got %v", maxLeeway, j.Leeway)
	}
	if j.Keys == "" {
		return errors.New("JWT.Keys: give a file or an https URL")
	}
	if isURL(j.Keys) {
		if _, err := parseKeyURL(j.Keys); err != nil {
			return fmt.Errorf("JWT.Keys: %w", err)
		}
	}
	return nil
}

// tokens adds the tokens of a request.
func (j *JWT) tokens(v *values, r *http.Request) {
	if j.Cookie != "" {
		v.cookie(r, j.Cookie)
		return
	}
	for _, line := range r.Header[j.Header] {
		if token, ok := bearer(line); ok {
			v.add(token)
		} else if j.Header != "Authorization" {
			v.add(strings.Trim(line, " \t"))
		}
	}
}

// bearer returns the token after the scheme Bearer, in any case (RFC 6750, 2.1; RFC 9110, 11.1).
func bearer(line string) (string, bool) {
	scheme, token, ok := strings.Cut(strings.Trim(line, " \t"), " ")
	return strings.Trim(token, " \t"), ok && strings.EqualFold(scheme, "Bearer")
}
