package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

var (
	rsaKey, _   = rsa.GenerateKey(rand.Reader, 2048)
	otherKey, _ = rsa.GenerateKey(rand.Reader, 2048)
	ecKey, _    = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, _ = ed25519.GenerateKey(rand.Reader)
	secretKey   = []byte(strings.Repeat("s", 32))
)

func public(key any) any {
	if k, ok := key.(crypto.Signer); ok {
		return k.Public()
	}
	return key
}

func jwk(key any, id string) jose.JSONWebKey { return jose.JSONWebKey{Key: public(key), KeyID: id} }

func jwks(t testing.TB, keys ...jose.JSONWebKey) string {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func algorithmOf(key any) jose.SignatureAlgorithm {
	switch key.(type) {
	case *rsa.PrivateKey:
		return jose.RS256
	case *ecdsa.PrivateKey:
		return jose.ES256
	case ed25519.PrivateKey:
		return jose.EdDSA
	}
	return jose.HS256
}

type object = map[string]any

// valid are the claims of a valid token, with changes; a nil value removes a claim.
func valid(changes ...object) object {
	all := object{"sub": "42", "org": "acme", "iss": "https://id.example", "aud": []string{"web", "chat"}, "exp": time.Now().Add(time.Minute).Unix()}
	for _, change := range changes {
		maps.Copy(all, change)
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

func sign(t testing.TB, key any, id string, payload any) string {
	t.Helper()
	return signWith(t, key, algorithmOf(key), object{"kid": id}, payload)
}

// signWith signs with any header; a payload that is a string is taken as it is.
func signWith(t testing.TB, key any, algorithm jose.SignatureAlgorithm, header object, payload any) string {
	t.Helper()
	options := &jose.SignerOptions{}
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	body, ok := payload.(string)
	if !ok {
		text, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		body = string(text)
	}
	signed, err := signer.Sign([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// raw joins a token of any header, payload and signature.
func raw(header, payload string, signature []byte) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + encode(signature)
}

// byHand signs a token of any header with HMAC-SHA256.
func byHand(secret []byte, header, payload string) string {
	token := raw(header, payload, nil)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strings.TrimSuffix(token, ".")))
	return token + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func text(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
