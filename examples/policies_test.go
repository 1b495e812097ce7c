package examples

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// examplePolicies returns the texts of all policies that a reader may copy, by their location. A block that begins with "# refused" shows an error.
func examplePolicies(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	pages, _ := filepath.Glob("../docs/*.md")
	reference, _ := filepath.Glob("../docs/reference/*.md")
	for _, page := range append(append(pages, reference...), readme) {
		if !strings.Contains(read(t, page), "\n```yaml\n") {
			continue
		}
		for i, block := range blocks(t, page, "yaml") {
			if strings.Contains(block, "version: 1\n") && !strings.HasPrefix(block, "# refused") {
				all[fmt.Sprintf("%s, block %d", page, i+1)] = block
			}
		}
	}
	for _, pattern := range []string{"*/limits.yaml", "*/*/limits.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			all[file] = read(t, file)
		}
	}
	for _, place := range []string{readme + ", block 1", "../docs/reference/policy.md, block 1", "../docs/policy.md, block 1", "../docs/security.md, block 1", "middleware/limits.yaml", "chat/limits.yaml"} {
		if all[place] == "" {
			t.Errorf("%s has no policy: the test does not find it", place)
		}
	}
	return all
}

// blockWith returns the YAML of a page that has some words.
func blockWith(t *testing.T, page, words string) string {
	t.Helper()
	all := blocks(t, page, "yaml")
	at := slices.IndexFunc(all, func(block string) bool { return strings.Contains(block, words) })
	if at < 0 {
		t.Fatalf("%s has no policy with %s", page, words)
	}
	return all[at]
}

func TestPolicies_inDocumentsAreValid(t *testing.T) {
	for place, text := range examplePolicies(t) {
		p, err := policy.Parse(place, []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", place, err)
		}
		if complete, err := p.Complete(); err != nil || complete.Check() != nil {
			t.Errorf("%s: its defaults: %v", place, err)
		}
	}
}

// Forged identities do not help: every limit that counts a request without identities also counts the forged request.
func TestPolicies_noForgedIdentityLiftsALimit(t *testing.T) {
	server := embedded.New(embedded.Options{})
	t.Cleanup(func() { _ = server.Close() })
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	for place, text := range examplePolicies(t) {
		p, err := policy.Parse(place, []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		code := withSecrets(t, p)
		offline := &http.Client{Transport: refusing{}}
		reader, err := p.Reader(code, identity.Options{Client: offline, OnReload: func(string, error) {}})
		if err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		g, err := guard.New(rdb, p, guard.Options{})
		if err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		for _, e := range p.Endpoints {
			counted := func(r *http.Request, path func(string) string) (verified, limits []string) {
				found, err := reader.Read(r, path)
				if err != nil {
					t.Fatalf("%s: %v", place, err)
				}
				for _, s := range found.Subjects {
					if name, _, _ := strings.Cut(s, "="); p.Verified(name) {
						verified = append(verified, s)
					}
				}
				explained, err := g.Explain(guard.Request{Endpoint: e.Name, Subjects: found.Subjects})
				if err != nil {
					t.Fatalf("%s: %v", place, err)
				}
				if !explained.Counted && !e.Unbounded {
					t.Errorf("%s: %s: nothing counts the request", place, e.Name)
				}
				for _, l := range explained.Limits {
					limits = append(limits, l.Name+" of "+l.Subject)
				}
				return verified, limits
			}
			verified, limits := counted(httptest.NewRequest(http.MethodPost, "/", nil), nil)
			for name, r := range forgeries(p) {
				v, l := counted(r, func(string) string { return name })
				if diff := cmp.Diff(verified, v); diff != "" {
					t.Errorf("%s: %s: %s is verified (-want +got):\n%s", place, e.Name, name, diff)
				}
				for _, one := range limits {
					if !slices.Contains(l, one) {
						t.Errorf("%s: %s: %s lifts %s", place, e.Name, name, one)
					}
				}
			}
		}
		_, _ = reader.Close(), g.Close()
	}
}

// Strangers who guess the password of an account do not keep its owner from logging in, however many addresses they have.
func TestPolicies_strangersDoNotLockTheOwnerOut(t *testing.T) {
	rdb := embedded.New(embedded.Options{}).Client()
	text := blockWith(t, "../docs/policy.md", "name: guesses")
	p, err := policy.Parse("limits.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.Timeout = time.Minute
	refunded := make(chan struct{}, 1000)
	g, err := guard.New(rdb, p, guard.Options{Observers: []guard.Observer{func(_ context.Context, e guard.Event) {
		if _, ok := e.(guard.Refunded); ok {
			refunded <- struct{}{}
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	account := func(r *http.Request) (string, error) { return r.FormValue("account"), nil }
	m, err := httpguard.New(g, httpguard.Options{Code: policy.Code{Funcs: map[string]identity.Func{"account": account}}})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("password") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	tried := func(address, account, password string) int {
		r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(url.Values{"account": {account}, "password": {password}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = address + ":1024"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for i := range 10 {
		stranger, answers := fmt.Sprintf("198.51.100.%d", i), map[int]int{}
		for range 20 {
			answers[tried(stranger, "ada", "wrong")]++
		}
		if diff := cmp.Diff(map[int]int{401: 5, 429: 15}, answers); diff != "" {
			t.Errorf("20 guesses of %s (-want +got):\n%s", stranger, diff)
		}
		if code := tried("203.0.113.7", "ada", "right"); code != http.StatusOK {
			t.Fatalf("after the guesses of %d strangers, the owner gets %d", i+1, code)
		}
		<-refunded // the success does not count
	}
	answers := map[int]int{}
	for i := range 50 { // accounts
		answers[tried("198.51.100.99", fmt.Sprint("user", i), "wrong")]++
	}
	if answers[401] != 20 {
		t.Errorf("one address tried passwords of %d accounts: %v", answers[401], answers)
	}
}

// forgeries returns requests with made-up values in all sources of a policy's identities, in each form.
func forgeries(p *policy.Policy) map[string]*http.Request {
	const none = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsImV4cCI6OTk5OTk5OTk5OX0." // alg none, of admin, until 2286
	forms := map[string]string{
		"a made-up value":         "made-up",
		"a subject":               "ip=198.51.100.9",
		"a token with alg none":   none,
		"a made-up fingerprint":   "fp:click:device",
		"an unsigned fingerprint": "fp:click:device.9999999999.k1.AAAA",
		"an address":              "198.51.100.9",
		"control characters":      "\u202e\x01\xff",
		"64 KiB":                  strings.Repeat("x", 64<<10),
	}
	for n := range 10 {
		forms[fmt.Sprint("a fresh value, ", n)] = fmt.Sprint("fresh-", n)
	}
	all := map[string]*http.Request{}
	for name, form := range forms {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		write := func(header string) {
			r.Header.Add(header, "")
			r.Header.Add(header, form)
			r.Header.Add(header, form+" ")
		}
		query := r.URL.Query()
		for _, id := range p.Identities {
			switch {
			case id.Header != "":
				write(id.Header)
			case id.Fingerprint != "":
				write(id.Fingerprint)
			case id.Cookie != "":
				r.Header.Add("Cookie", id.Cookie+"="+form)
			case id.Query != "":
				query.Add(id.Query, form)
			case id.JWT != nil:
				r.Header.Add("Authorization", "Bearer "+form)
				if id.JWT.Header != "" {
					write(id.JWT.Header)
				}
			}
		}
		r.URL.RawQuery = query.Encode()
		for _, header := range []string{"X-Forwarded-For", "X-Real-Ip", "X-API-Key", "Idempotency-Key"} {
			if r.Header.Get(header) == "" {
				r.Header.Add(header, form)
			}
		}
		r.Header.Set("Forwarded", "for="+form)
		all[name] = r
	}
	return all
}

// withSecrets writes the files of a policy, and returns its code: funcs that find nothing, and verifiers that accept nothing.
func withSecrets(t *testing.T, p *policy.Policy) policy.Code {
	t.Helper()
	const secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	code := policy.Code{Funcs: map[string]identity.Func{}, Verifiers: map[string]identity.Verifier{}}
	for name, id := range p.Identities {
		if id.Func {
			code.Funcs[name] = func(*http.Request) (string, error) { return "", identity.ErrNone }
		}
		if v := id.Verify; v != nil {
			switch {
			case v.SHA256File != "":
				v.SHA256File = write(name+".keys", secret+" ada\n")
			case v.HMACFile != "":
				v.HMACFile = write(name+".hmac", "k1 "+secret+"\n")
			case v.Func:
				code.Verifiers[name] = unknown{}
			}
		}
		if id.JWT != nil && id.JWT.Keys != "" && !strings.Contains(id.JWT.Keys, "://") {
			id.JWT.Keys = write(name+".json", `{"keys":[{"kty":"oct","kid":"k1","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}]}`)
		}
	}
	return code
}

type unknown struct{}

func (unknown) Verify(context.Context, string) (string, error) { return "", errors.New("not known") }

// refusing fails all requests for keys.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no network here")
}
