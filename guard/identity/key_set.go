package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
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
