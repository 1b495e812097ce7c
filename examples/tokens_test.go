package examples

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// An issuer signs tokens, and publishes its keys in a file beside other members.
type issuer struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	file string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(map[string]any{
		"keys":        []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}},
		"public_cert": map[string]string{"kid": "k1", "cert": "-----BEGIN CERTIFICATE-----"},
	})
	file := filepath.Join(t.TempDir(), "keys.json")
	if err == nil {
		err = os.WriteFile(file, set, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t, key, file}
}

// reader reads the identities of the policy in a page whose text has some words, with the keys of the issuer.
func (i *issuer) reader(page, words string) (*policy.Policy, *identity.Reader) {
	i.t.Helper()
	p, err := policy.Parse(page, []byte(blockWith(i.t, page, words)))
	if err != nil {
		i.t.Fatal(err)
	}
	for _, id := range p.Identities {
		if id.JWT != nil && id.JWT.Keys != "" {
			id.JWT.Keys = i.file
		}
	}
	reader, err := p.Reader(policy.Code{}, identity.Options{})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = reader.Close() })
	return p, reader
}

func (i *issuer) token(claims, changes map[string]any) string {
	i.t.Helper()
	all := map[string]any{"iat": time.Now().Unix(), "exp": time.Now().Unix() + 60}
	maps.Copy(all, claims)
	maps.Copy(all, changes)
	payload, err := json.Marshal(all)
	if err != nil {
		i.t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, (&jose.SignerOptions{}).WithHeader("kid", "k1"))
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}

type claims = map[string]any

// The tokens have the claims that the issuers document.
func TestTokens_ofIssuersInThePages(t *testing.T) {
	i := newIssuer(t)
	const examples, reference = "../docs/policy.md", "../docs/reference/policy.md"
	for _, c := range []struct {
		name, page, words, header, before string
		claims                            claims
		tokens                            []claims
		want                              []string
	}{
		{
			name: "Google IAP", page: examples, words: "X-Goog-Iap-Jwt-Assertion", header: "x-goog-iap-jwt-assertion",
			claims: claims{
				"iss": "https://cloud.google.com/iap", "aud": "/projects/PROJECT_NUMBER/global/backendServices/SERVICE_ID",
				"sub": "accounts.google.com:1234", "email": "ada@example.com", "hd": "example.com",
			},
			tokens: []claims{{}, {"aud": "/projects/1/global/backendServices/2"}, {"iss": "https://accounts.google.com"}},
			want:   []string{"user=accounts.google.com:1234", "", ""},
		},
		{
			name: "Cloudflare Access", page: examples, words: "Cf-Access-Jwt-Assertion", header: "cf-access-jwt-assertion",
			claims: claims{"iss": "https://TEAM.cloudflareaccess.com", "aud": []string{"APPLICATION_AUDIENCE_TAG"}, "sub": "7335d417-61da-459d-899c-0a01c76a2f94", "type": "app"},
			tokens: []claims{{}, {"sub": "", "common_name": "e367826f93b8.access"}, {"aud": []string{"other"}}},
			want:   []string{"user=7335d417-61da-459d-899c-0a01c76a2f94", "program=e367826f93b8.access", ""},
		},
		{
			name: "Keycloak", page: reference, words: "realm_access.roles", header: "Authorization", before: "Bearer ",
			claims: claims{"iss": "https://id.example/realms/shop", "sub": "42"},
			tokens: []claims{
				{"realm_access": claims{"roles": []string{"offline_access", "pro", "enterprise"}}},
				{"realm_access": claims{"roles": []string{"pro"}}},
				{"realm_access": claims{"roles": []string{"admin"}}},
				{},
			},
			want: []string{"tier=enterprise user=42", "tier=pro user=42", "user=42", "user=42"},
		},
	} {
		p, reader := i.reader(c.page, c.words)
		for n, changes := range c.tokens {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set(c.header, c.before+i.token(c.claims, changes))
			found, err := reader.Read(r, nil)
			subjects := slices.DeleteFunc(found.Subjects, func(s string) bool { return strings.HasPrefix(s, "ip=") })
			if diff := cmp.Diff(c.want[n], strings.Join(subjects, " ")); diff != "" || err != nil {
				t.Errorf("%s, token %d: %v (-want +got):\n%s", c.name, n+1, err, diff)
			}
			if tier := strings.TrimPrefix(found.Subject("tier"), "tier="); p.Plan(found.Subjects) != tier {
				t.Errorf("%s, token %d: the plan is %q", c.name, n+1, p.Plan(found.Subjects))
			}
		}
	}
}
