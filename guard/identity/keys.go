package identity

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/rlfunc/rlfunc/internal/reload"
)

const (
	maxKeySet = 1 << 20 // bytes of a file or a response
	maxKeys   = 64      // of a set
	minRSA    = 2048    // bits (RFC 7518, 3.3)
)

// algorithms are the supported algorithms.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, jose.HS256, jose.HS384, jose.HS512,
}

// A key verifies tokens of its algorithms.
type key struct {
	id         string // kid; a key without one verifies tokens of any kid
	algorithms []jose.SignatureAlgorithm
	key        any
}

// parseKeys reads a JWK Set, or public keys in PEM. It skips keys for other uses, and shared secrets unless secrets is set. It
// returns an error if no key is left.
func parseKeys(content []byte, secrets bool) ([]key, error) {
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("-----BEGIN")) {
		return parsePEM(content)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(content, &set); err != nil {
		return nil, fmt.Errorf("neither a JWK Set nor PEM: %w", err)
	}
	if len(set.Keys) == 0 || len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("a JWK Set must have 1 to %d keys, got %d", maxKeys, len(set.Keys))
	}
	var keys []key
	var rejected error
	for i, raw := range set.Keys {
		k, err := parseJWK(raw, secrets)
		if err != nil {
			rejected = errors.Join(rejected, fmt.Errorf("key %d: %w", i, err))
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("no key can verify tokens: %w", rejected)
	}
	return keys, nil
}

func parseJWK(raw []byte, secrets bool) (key, error) {
	var jwk jose.JSONWebKey
	if err := json.Unmarshal(raw, &jwk); err != nil {
		return key{}, err
	}
	if jwk.Use != "" && jwk.Use != "sig" {
		return key{}, fmt.Errorf("use must be sig, got %.20q", jwk.Use)
	}
	if _, secret := jwk.Key.([]byte); secret && !secrets {
		return key{}, errors.New("shared secrets are allowed in files only")
	}
	allowed, err := algorithmsOf(jwk.Key)
	if err != nil {
		return key{}, err
	}
	if jwk.Algorithm != "" {
		own := jose.SignatureAlgorithm(jwk.Algorithm)
		if !slices.Contains(allowed, own) {
			return key{}, fmt.Errorf("alg must be one of %v for its type, got %.20q", allowed, jwk.Algorithm)
		}
		allowed = []jose.SignatureAlgorithm{own}
	}
	return key{id: jwk.KeyID, algorithms: allowed, key: jwk.Key}, nil
}

// algorithmsOf returns the algorithms of a key by its type and size.
func algorithmsOf(k any) ([]jose.SignatureAlgorithm, error) {
	switch k := k.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < minRSA {
			return nil, fmt.Errorf("an RSA key must have at least %d bits, got %d", minRSA, k.N.BitLen())
		}
		return algorithms[0:6], nil
	case *ecdsa.PublicKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return algorithms[6:7], nil
		case 384:
			return algorithms[7:8], nil
		case 521:
			return algorithms[8:9], nil
		}
	case ed25519.PublicKey:
		return algorithms[9:10], nil
	case []byte: // a secret is at least as long as the hash (RFC 7518, 3.2)
		switch {
		case len(k) >= 64:
			return algorithms[10:13], nil
		case len(k) >= 48:
			return algorithms[10:12], nil
		case len(k) >= 32:
			return algorithms[10:11], nil
		}
		return nil, fmt.Errorf("a secret must have at least 32 bytes, got %d", len(k))
	case *rsa.PrivateKey, *ecdsa.PrivateKey, ed25519.PrivateKey:
		return nil, errors.New("is a private key: use the public key")
	}
	return nil, fmt.Errorf("unsupported key type %T", k)
}

func parsePEM(content []byte) ([]key, error) {
	var keys []key
	for len(bytes.TrimSpace(content)) > 0 {
		block, rest := pem.Decode(content)
		if block == nil {
			return nil, errors.New("invalid PEM")
		}
		var public any
		var err error
		switch content = rest; block.Type {
		case "PUBLIC KEY":
			public, err = x509.ParsePKIXPublicKey(block.Bytes)
		case "RSA PUBLIC KEY":
			public, err = x509.ParsePKCS1PublicKey(block.Bytes)
		default:
			err = fmt.Errorf("must be a PUBLIC KEY, got %.40q", block.Type)
		}
		var allowed []jose.SignatureAlgorithm
		if err == nil {
			allowed, err = algorithmsOf(public)
		}
		if err != nil {
			return nil, fmt.Errorf("PEM block %d: %w", len(keys), err)
		}
		keys = append(keys, key{algorithms: allowed, key: public})
		if len(keys) > maxTried {
			return nil, fmt.Errorf("more than %d PEM blocks: use a JWK Set, whose keys have a kid", maxTried)
		}
	}
	return keys, nil
}

// A keySource is a file or URL of keys.
type keySource struct {
	name    string
	keys    atomic.Pointer[[]key] // nil before the first response of a URL; a new pointer after each change
	refresh chan struct{}         // for a URL: a token names an unknown key
	file    *reload.Files         // nil for a URL
}

func newKeySource(name string) (*keySource, error) {
	s := &keySource{name: name}
	if isURL(name) {
		s.refresh = make(chan struct{}, 1)
		return s, nil
	}
	s.file = reload.File(name, maxKeySet, func(content []byte) error {
		if err := s.set(content, true); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	})
	return s, s.file.Load()
}

func (s *keySource) set(content []byte, secrets bool) error {
	keys, err := parseKeys(content, secrets)
	if err == nil {
		s.keys.Store(&keys)
	}
	return err
}

// requestRefresh requests a fetch without waiting for it. It does nothing for a file.
func (s *keySource) requestRefresh() {
	select {
	case s.refresh <- struct{}{}:
	default:
	}
}

const (
	fetchTimeout = 10 * time.Second
	keyRefresh   = 15 * time.Minute // between fetches
	minPause     = 30 * time.Second // between fetches for unknown kids, which clients choose
	firstRetry   = time.Second      // after a failed fetch; doubles up to minPause
)

// CheckKeys returns why keys is no file, and no URL whose response nobody can forge on the way: https, or http on loopback.
func CheckKeys(keys string) error {
	if !isURL(keys) {
		return nil
	}
	_, err := parseKeyURL(keys)
	return err
}

func isURL(keys string) bool { return strings.Contains(keys, "://") }

func parseKeyURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("must be a valid URL") // the text may hold a password
	}
	addr, err := netip.ParseAddr(u.Hostname())
	loopback := err == nil && addr.IsLoopback() || u.Hostname() == "localhost"
	return u, checkKeyURL(u, loopback)
}

// checkKeyURL requires https, or http if that is allowed.
func checkKeyURL(u *url.URL, allowHTTP bool) error {
	switch {
	case u.Hostname() == "":
		return errors.New("must be a URL with a host")
	case u.User != nil:
		return errors.New("must be a URL without user and password")
	case u.Scheme != "https" && (u.Scheme != "http" || !allowHTTP):
		return fmt.Errorf("must be an https URL, got %s://%s", u.Scheme, u.Host)
	}
	return nil
}

// A fetch keeps the keys of a URL fresh.
type fetch struct {
	source *keySource
	client *http.Client
	report func(source string, err error)

	content []byte // of the last valid response
	retry   time.Duration
}

// run fetches until ctx ends.
func (f *fetch) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := f.once(ctx)
		if !f.wait(ctx, pause) {
			return
		}
	}
}

// once fetches and returns the pause until the next fetch.
func (f *fetch) once(ctx context.Context) time.Duration {
	content, err := f.get(ctx)
	if err == nil && !bytes.Equal(content, f.content) {
		err = f.source.set(content, false)
	}
	if ctx.Err() != nil {
		return 0
	}
	if err != nil {
		f.report(f.source.name, fmt.Errorf("fetch keys: %w", err))
		f.retry = min(max(2*f.retry, firstRetry), minPause)
		return f.retry
	}
	if f.retry > 0 || !bytes.Equal(content, f.content) {
		f.report(f.source.name, nil)
	}
	f.content, f.retry = content, 0
	return keyRefresh
}

// wait waits for a pause, which a token with an unknown key shortens. It reports false when ctx ends.
func (f *fetch) wait(ctx context.Context, pause time.Duration) bool {
	fetched := time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	refresh := f.source.refresh
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-refresh:
			refresh = nil
			if pause > minPause {
				timer.Reset(time.Until(fetched.Add(minPause)))
			}
		}
	}
}

func (f *fetch) get(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.source.name, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", f.source.name, response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxKeySet+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxKeySet {
		return nil, fmt.Errorf("GET %s: larger than %d bytes", f.source.name, maxKeySet)
	}
	return content, nil
}
