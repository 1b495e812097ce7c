package middleware_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// secrets are the credentials that the service trusts: keys of tokens, known API keys, and keys that sign fingerprints.
type secrets struct{ dir, public string }

var (
	ownKey, _   = rsa.GenerateKey(rand.Reader, 2048)
	otherKey, _ = rsa.GenerateKey(rand.Reader, 2048)
)

const hmacSecret = "0123456789abcdef0123456789abcdef"

func writeSecrets(t *testing.T) *secrets {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&ownKey.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	s := &secrets{dir: t.TempDir(), public: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}
	for file, content := range map[string]string{
		"keys.pem": s.public,
		"keys.txt": fmt.Sprintf("%x partner\n%x banned\n%x stolen\n", sha256.Sum256([]byte("partner-key")), sha256.Sum256([]byte("banned-key")), sha256.Sum256([]byte("stolen-key"))),
		"hmac.txt": fmt.Sprintf("k1 %x\n", hmacSecret),
	} {
		if err := os.WriteFile(filepath.Join(s.dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// token signs claims. An HS256 token is signed with the public key, as its text.
func (s *secrets) token(t *testing.T, key *rsa.PrivateKey, header, claims string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	digest := sha256.Sum256([]byte(text))
	if strings.Contains(header, "HS256") {
		mac := hmac.New(sha256.New, []byte(s.public))
		mac.Write([]byte(text))
		return text + "." + encode(mac.Sum(nil))
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

// proofs replaces the names of proofs, genuine and not: {ada} is the token of user ada.
func (s *secrets) proofs(t *testing.T) *strings.Replacer {
	t.Helper()
	const rs256 = `{"alg":"RS256"}`
	claims := func(sub, more string) string {
		return `{"sub":"` + sub + `","iss":"https://id.example","aud":"chat"` + more + `}`
	}
	soon, past := fmt.Sprintf(`,"exp":%d`, time.Now().Unix()+3600), fmt.Sprintf(`,"exp":%d`, time.Now().Unix()-3600)
	ada := s.token(t, ownKey, rs256, claims("ada", soon))
	h, err := identity.NewHMAC(identity.HMACKey{ID: "k1", Secret: []byte(hmacSecret)})
	if err != nil {
		t.Fatal(err)
	}
	fingerprint := func(hash string, expires time.Time) string {
		signed, err := h.Sign("click", hash, expires)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	phone := fingerprint("phone", time.Now().Add(time.Hour))
	return strings.NewReplacer(
		"{ada}", ada,
		"{bob}", s.token(t, ownKey, rs256, claims("bob", soon)),
		"{none}", strings.Join([]string{base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)), strings.Split(ada, ".")[1], ""}, "."),
		"{hs256}", s.token(t, nil, `{"alg":"HS256"}`, claims("ada", soon)),
		"{expired}", s.token(t, ownKey, rs256, claims("ada", past)),
		"{no exp}", s.token(t, ownKey, rs256, claims("ada", "")),
		"{not yet}", s.token(t, ownKey, rs256, claims("ada", soon+fmt.Sprintf(`,"nbf":%d`, time.Now().Unix()+3000))),
		"{audience}", s.token(t, ownKey, rs256, strings.Replace(claims("ada", soon), `"chat"`, `"web"`, 1)),
		"{issuer}", s.token(t, ownKey, rs256, strings.Replace(claims("ada", soon), "id.example", "evil.example", 1)),
		"{forged}", s.token(t, otherKey, rs256, claims("ada", soon)),
		"{own jwk}", s.token(t, otherKey, `{"alg":"RS256","jwk":{"kty":"RSA","n":"AQAB","e":"AQAB"},"jku":"https://evil.example"}`, claims("ada", soon)),
		"{cut}", ada[:len(ada)-8],
		"{changed}", strings.Join([]string{strings.Split(ada, ".")[0], base64.RawURLEncoding.EncodeToString([]byte(claims("bob", soon))), strings.Split(ada, ".")[2]}, "."),
		"{two subs}", s.token(t, ownKey, rs256, claims(`bob","sub":"ada`, soon)),
		"{combined sub}", s.token(t, ownKey, rs256, claims("ada+ip=1", soon)),
		"{bidi sub}", s.token(t, ownKey, rs256, claims(`a\u202eda`, soon)),
		"{NUL sub}", s.token(t, ownKey, rs256, claims(`ada\u0000`, soon)),
		"{long sub}", s.token(t, ownKey, rs256, claims(strings.Repeat("a", 5000), soon)),
		"{empty sub}", s.token(t, ownKey, rs256, claims("", soon)),
		"{phone}", phone,
		"{old phone}", fingerprint("phone", time.Now().Add(-time.Hour)),
		"{other phone}", strings.Replace(phone, ":phone.", ":other.", 1),
		"{1000}", strings.Repeat("x", 1000),
		"{16K}", strings.Repeat("x", 16<<10),
		"{500K}", strings.Repeat("x", 500<<10),
		"{1M}", strings.Repeat("x", 1<<20),
		"{2M}", strings.Repeat("x", 2<<20),
	)
}
