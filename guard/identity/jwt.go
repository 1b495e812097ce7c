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

// A JWT reads a claim of a signed token (RFC 7519). A request lacks the identity if its token is malformed, not signed by one
// of the keys, expired, not yet valid, without exp, or of another issuer or audience. Two different valid tokens in one
// request are ErrAmbiguous. Identities that differ only in Claim share one verification.
//
// A Reader caches valid tokens by SHA-256 for at most 5 min, and no longer than they and their keys are valid: when a reload
// removes a key, its tokens end. The cache holds 8 MiB. Another one, of 1 MiB, holds tokens that were refused, so that the same bytes are
// verified once. A token is tried with at most 8 keys, and more than 3 different tokens in a request are ErrAmbiguous.
//
// The keys, not the token, determine the allowed algorithms: a key verifies its own alg, or those of its type if it has none.
type JWT struct {
	// Header is the header with the token, with or without the scheme Bearer. Defaults to Authorization, which requires the
	// scheme, unless Cookie is set.
	Header string
	// Cookie is the cookie with the token. Defaults to none.
	Cookie string
	// Claim is a claim at the token's top level: a string or a whole number. Other types count as missing. Defaults to sub.
	Claim string
	// Keys is the path of a file with a JWK Set (RFC 7517) or public keys in PEM, or the https URL of a JWK Set (http only for
	// loopback addresses). Only files may hold shared secrets (kty oct). A Reader reloads a file within 2 s after a change. It
	// fetches a URL every Options.KeyRefresh, and at most every 30 s for tokens with an unknown kid. If that fails, the old keys
	// stay in use. No token is valid before the first response of a URL. Required.
	Keys string
	// Issuer is the required iss. Defaults to any.
	Issuer string
	// Audience is a required entry of aud. Set it if the issuer also signs tokens for other services. Defaults to any.
	Audience string
	// Leeway is the tolerated difference between clocks, at most 10 min. Defaults to 30 s.
	Leeway time.Duration
}

// complete sets defaults and canonical names, and checks them.
func (j *JWT) complete() error {
	if j.Header != "" && j.Cookie != "" {
		return errors.New("JWT: set Header or Cookie, not both")
	}
	if j.Header == "" && j.Cookie == "" {
		j.Header = "Authorization"
	}
	if err := completeHeader(&j.Header, "JWT.Header"); err != nil {
		return err
	}
	if err := checkCookie(j.Cookie, "JWT.Cookie"); err != nil {
		return err
	}
	if j.Claim == "" {
		j.Claim = "sub"
	}
	if len(j.Claim) > maxSourceName {
		return fmt.Errorf("JWT.Claim must have at most %d bytes, got %d", maxSourceName, len(j.Claim))
	}
	if j.Leeway == 0 {
		j.Leeway = defaultLeeway
	}
	if j.Leeway < 0 || j.Leeway > maxLeeway {
		return fmt.Errorf("JWT.Leeway must be 0 to %v, got %v", maxLeeway, j.Leeway)
	}
	if j.Keys == "" {
		return errors.New("JWT.Keys must be a file or an https URL")
	}
	if err := CheckKeys(j.Keys); err != nil {
		return fmt.Errorf("JWT.Keys %w", err)
	}
	return nil
}

// tokens adds the tokens of a request.
func (j *JWT) tokens(v *values, r *http.Request) {
	if j.addTokens(v, r); v.n > maxTokens {
		v.over = fmt.Sprintf("more than %d different tokens", maxTokens)
	}
}

func (j *JWT) addTokens(v *values, r *http.Request) {
	if j.Cookie != "" {
		var raw values
		raw.cookie(r, j.Cookie)
		for _, value := range raw.all[:raw.n] {
			v.add(unescaped(unquoted(value)))
		}
		v.over = raw.over
		return
	}
	for _, line := range r.Header[j.Header] {
		eachCredentials(line, func(value string) {
			scheme, token := cutScheme(value)
			if strings.EqualFold(scheme, "Bearer") || j.Header != "Authorization" {
				v.add(token)
			}
		})
	}
}
