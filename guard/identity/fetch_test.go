package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

// A key server over a real connection: keys rotate, the server fails, and a token with an unknown kid starts a fetch.
func TestReader_keyURLRotation(t *testing.T) {
	var answer atomic.Pointer[string]
	set := func(text string) { answer.Store(&text) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, *answer.Load())
	}))
	t.Cleanup(server.Close)
	reports := make(chan error, 10)
	reported := func() string {
		select {
		case err := <-reports:
			return fmt.Sprint(err)
		case <-time.After(30 * time.Second):
			t.Fatal("no report")
			return ""
		}
	}
	set(jwks(t, jwk(rsaKey, "r1")))
	from, err := newKeySource(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := &fetch{source: from, client: fetcher(nil), report: func(_ string, err error) { reports <- err }}
	v := &verification{keys: from, cache: newTokenCache()}
	for _, step := range []struct {
		name, answer, report string
		r1, e1               bool
	}{
		{"at first", jwks(t, jwk(rsaKey, "r1")), "<nil>", true, false},
		{"a second key", jwks(t, jwk(rsaKey, "r1"), jwk(ecKey, "e1")), "<nil>", true, true},
		{"the first is gone", jwks(t, jwk(ecKey, "e1")), "<nil>", false, true},
		{"a page of a proxy", "<html>", "fetch keys: neither a JWK Set nor PEM: invalid character '<' looking for beginning of value", false, true},
		{"an empty set", `{"keys":[]}`, "fetch keys: a JWK Set must have 1 to 64 keys, got 0", false, true},
		{"secrets", jwks(t, jwk(secretKey, "e1")), "fetch keys: no key can verify tokens: key 0: shared secrets are allowed in files only", false, true},
		{"1 MiB and one", strings.Repeat(" ", maxKeySet+1), "fetch keys: GET " + server.URL + ": larger than 1048576 bytes", false, true},
		{"well again", jwks(t, jwk(ecKey, "e1")), "<nil>", false, true},
	} {
		set(step.answer)
		f.once(t.Context())
		if got := reported(); got != step.report {
			t.Errorf("%s: reported %s", step.name, got)
		}
		_, r1 := v.verify(sign(t, rsaKey, "r1", valid()), time.Now())
		_, e1 := v.verify(sign(t, ecKey, "e1", valid()), time.Now())
		if r1 != step.r1 || e1 != step.e1 {
			t.Errorf("%s: r1 %v, e1 %v", step.name, r1, e1)
		}
	}

	// The same with a Reader.
	r, err := newReader(Options{OnReload: func(_ string, err error) { reports <- err }}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: server.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := reported(); got != "<nil>" {
		t.Error(got)
	}
	got, err := r.Read(request("Authorization", "Bearer "+sign(t, ecKey, "e1", valid())), nil)
	if diff := cmp.Diff([]string{"user=42"}, got.Subjects); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A server responds to one request.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// Fetch times, on virtual time.
func TestReader_keyFetchTimes(t *testing.T) {
	keys := jwks(t, jwk(rsaKey, "r1"))
	unknown := sign(t, otherKey, "r2", valid(object{"exp": int64(1) << 40}))
	known := sign(t, otherKey, "r1", valid(object{"exp": int64(1) << 40}))
	nameless := signWith(t, otherKey, "RS256", nil, valid(object{"exp": int64(1) << 40}))
	for _, c := range []struct {
		name  string
		token string        // each 100 ms, from the first second on
		until time.Duration // virtual
		fails func(after time.Duration) bool
		want  []time.Duration
	}{
		{"no token", "", 31 * time.Minute, nil, []time.Duration{0, 15 * time.Minute, 30 * time.Minute}},
		{"tokens of a known kid", known, 5 * time.Minute, nil, []time.Duration{0}},
		{"tokens without a kid", nameless, 5 * time.Minute, nil, []time.Duration{0}},
		{"tokens of an unknown kid", unknown, 95 * time.Second, nil, []time.Duration{0, 30 * time.Second, 60 * time.Second, 90 * time.Second}},
		{
			"a server that fails", unknown, 100 * time.Second, func(time.Duration) bool { return true },
			[]time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second, 61 * time.Second, 91 * time.Second},
		},
		{
			"a server that recovers", "", 16 * time.Minute, func(after time.Duration) bool { return after < 2*time.Second },
			[]time.Duration{0, 1 * time.Second, 3 * time.Second, 15*time.Minute + 3*time.Second},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var got []time.Duration
			client := &http.Client{Transport: server(func(*http.Request) (*http.Response, error) {
				after := time.Since(begin)
				got = append(got, after)
				if c.fails != nil && c.fails(after) {
					return nil, errors.New("connection refused")
				}
				return answer(http.StatusOK, keys), nil
			})}
			r, err := newReader(Options{Client: client, OnReload: func(string, error) {}}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: "https://id.example/jwks.json"}}})
			if err != nil {
				t.Fatal(err)
			}
			if c.token == "" {
				time.Sleep(c.until)
			} else {
				for time.Sleep(time.Second); time.Since(begin) < c.until; time.Sleep(100 * time.Millisecond) {
					if found, err := r.Read(request("Authorization", "Bearer "+c.token), nil); err != nil || found.Subjects != nil {
						t.Errorf("%s: %+v, %v", c.name, found, err)
					}
				}
			}
			synctest.Wait()
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
		})
	}
}

func TestReader_rejectsUnsafeKeyResponses(t *testing.T) {
	redirect := func(to string) *http.Response {
		r := answer(http.StatusFound, "")
		r.Header.Set("Location", to)
		return r
	}
	for name, c := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		want   string
	}{
		"a redirect to http": {
			func(*http.Request) (*http.Response, error) { return redirect("http://id.example/keys"), nil },
			`fetch keys: Get "http://id.example/keys": redirect target must be an https URL, got http://id.example`,
		},
		"a redirect to http on loopback": {
			func(*http.Request) (*http.Response, error) { return redirect("http://127.0.0.1:6060/debug/keys"), nil },
			`fetch keys: Get "http://127.0.0.1:6060/debug/keys": redirect target must be an https URL, got http://127.0.0.1:6060`,
		},
		"a redirect to http on localhost": {
			func(*http.Request) (*http.Response, error) { return redirect("http://localhost/keys"), nil },
			`fetch keys: Get "http://localhost/keys": redirect target must be an https URL, got http://localhost`,
		},
		"a redirect to a file": {
			func(*http.Request) (*http.Response, error) { return redirect("file:///etc/passwd"), nil },
			`fetch keys: Get "file:///etc/passwd": redirect target must be a URL with a host`,
		},
		"endless redirects": {
			func(*http.Request) (*http.Response, error) { return redirect("https://id.example/again"), nil },
			`fetch keys: Get "https://id.example/again": more than 3 redirects`,
		},
		"an error page": {
			func(*http.Request) (*http.Response, error) {
				return answer(http.StatusInternalServerError, jwks(t, jwk(rsaKey, "r1"))), nil
			},
			"fetch keys: GET https://id.example/jwks.json: Internal Server Error",
		},
		"a server that never responds": {
			func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
			`fetch keys: Get "https://id.example/jwks.json": context deadline exceeded`,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var reports []string
			r, err := newReader(Options{Client: &http.Client{Transport: server(c.answer)}, OnReload: func(source string, err error) {
				reports = append(reports, fmt.Sprint(err))
			}}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: "https://id.example/jwks.json"}}})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(fetchTimeout + 500*time.Millisecond) // before the next fetch
			_ = r.Close()
			if len(reports) == 0 || reports[0] != c.want {
				t.Errorf("%s: want %s, got %q", name, c.want, reports)
			}
		})
	}
}

func TestReader_closeCancelsFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := newReader(Options{
			Client: &http.Client{Transport: server(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})},
			OnReload: func(_ string, err error) { t.Error("reported", err) },
		}, one{name: "user", Identity: Identity{JWT: &JWT{Keys: "https://id.example/jwks.json"}}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		if err := r.Close(); err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

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
