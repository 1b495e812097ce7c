package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

func pemOf(t testing.TB, keys ...any) string {
	t.Helper()
	var all strings.Builder
	for _, key := range keys {
		der, err := x509.MarshalPKIXPublicKey(public(key))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	}
	return all.String()
}

func TestParseKeys(t *testing.T) {
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	rs384, encryption := jwk(rsaKey, "a"), jwk(otherKey, "b")
	rs384.Algorithm, rs384.Use, encryption.Use = "RS384", "sig", "enc"
	pkcs1 := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey)}))
	rsaAll := "[RS256 RS384 RS512 PS256 PS384 PS512]"
	for name, c := range map[string]struct{ content, want string }{
		"RSA":                      {jwks(t, jwk(rsaKey, "a")), "a" + rsaAll},
		"RSA of one alg":           {jwks(t, rs384), "a[RS384]"},
		"EC":                       {jwks(t, jwk(ecKey, "a"), jwk(p384, "b")), "a[ES256] b[ES384]"},
		"Ed25519":                  {jwks(t, jwk(edKey, "")), "[EdDSA]"},
		"secrets":                  {jwks(t, jwk(secretKey, "a"), jwk(make([]byte, 48), "b"), jwk(make([]byte, 64), "c")), "a[HS256] b[HS256 HS384] c[HS256 HS384 HS512]"},
		"an encryption key beside": {jwks(t, encryption, jwk(ecKey, "a")), "a[ES256]"},
		"an unknown type beside":   {strings.Replace(jwks(t, jwk(ecKey, "a")), "[", `[{"kty":"XYZ"},{"kty":"OKP","crv":"X25519","x":"AA"},`, 1), "a[ES256]"},
		"one kid twice":            {jwks(t, jwk(ecKey, "a"), jwk(edKey, "a")), "a[ES256] a[EdDSA]"},
		"PEM":                      {"\n" + pemOf(t, rsaKey, ecKey) + "\n", rsaAll + " [ES256]"},
		"PEM of PKCS #1":           {pkcs1, rsaAll},
	} {
		keys, err := parseKeys([]byte(c.content), true)
		var got []string
		for _, k := range keys {
			got = append(got, fmt.Sprint(k.id, k.algorithms))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestParseKeys_rejects(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip("this toolchain makes no small keys:", err)
	}
	confused, encryption := jwk(rsaKey, "a"), jwk(rsaKey, "a")
	confused.Algorithm, encryption.Use = "HS256", "enc"
	private := jose.JSONWebKey{Key: rsaKey, KeyID: "a"}
	privatePEM := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)}))
	const none = "no key can verify tokens: key 0: "
	for name, c := range map[string]struct {
		content, want string
		secrets       bool
	}{
		"nothing":              {"", "neither a JWK Set nor PEM: ", true},
		"text":                 {"hello", "neither a JWK Set nor PEM: ", true},
		"a page":               {"<html>", "neither a JWK Set nor PEM: ", true},
		"one key":              {text(t, jwk(ecKey, "a")), "a JWK Set must have 1 to 64 keys, got 0", true},
		"an empty set":         {`{"keys":[]}`, "a JWK Set must have 1 to 64 keys, got 0", true},
		"65 keys":              {`{"keys":[` + strings.Repeat("1,", 64) + "1]}", "a JWK Set must have 1 to 64 keys, got 65", true},
		"two sets":             {`{"keys":[],"keys":[]}`, "neither a JWK Set nor PEM: ", true},
		"a short secret":       {jwks(t, jwk(secretKey[:31], "a")), none + "a secret must have at least 32 bytes, got 31", true},
		"a secret from a URL":  {jwks(t, jwk(secretKey, "a")), none + "shared secrets are allowed in files only", false},
		"a small RSA key":      {jwks(t, jwk(small, "a")), none + "an RSA key must have at least 2048 bits, got 1024", true},
		"a private key":        {jwks(t, private), none + "is a private key: use the public key", true},
		"an alg of a secret":   {jwks(t, confused), none + "alg must be one of [RS256 RS384 RS512 PS256 PS384 PS512] for its type", true},
		"for encryption":       {jwks(t, encryption), none + `use must be sig, got "enc"`, true},
		"numbers":              {`{"keys":[1]}`, none, true},
		"half a PEM":           {pemOf(t, rsaKey)[:200], "invalid PEM", true},
		"PEM and more":         {pemOf(t, rsaKey) + "more", "invalid PEM", true},
		"a private key as PEM": {privatePEM, `PEM block 0: must be a PUBLIC KEY, got "RSA PRIVATE KEY"`, true},
		"a small key as PEM":   {pemOf(t, rsaKey, small), "PEM block 1: an RSA key must have at least 2048 bits, got 1024", true},
	} {
		if keys, err := parseKeys([]byte(c.content), c.secrets); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: want %s, got %v, %v", name, c.want, keys, err)
		}
	}
}
