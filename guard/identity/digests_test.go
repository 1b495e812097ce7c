package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func digest(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }

func TestDigests_verifiesListedKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.txt")
	write(t, path, "# partners\n\n  "+digest("old")+" acme\r\n"+digest("new")+"\tacme\n"+strings.ToUpper(digest("bare"))+"\n#"+digest("out")+" out\n"+digest("odd")+" a+b", 0)
	d, err := NewDigests(path)
	if err != nil {
		t.Fatal(err)
	}
	r := mustNew(t, Options{}, one{name: "key", Identity: Identity{Header: "X-API-Key"}, verify: d})
	for key, want := range map[string]Found{
		"old":                     {Subjects: []string{"key=acme"}},
		"new":                     {Subjects: []string{"key=acme"}},
		"bare":                    {Subjects: []string{"key=" + digest("bare")[:32]}},
		"odd":                     {Subjects: []string{"key=a%2Bb"}},
		"out":                     {},
		"acme":                    {},
		digest("old"):             {},
		strings.Repeat("k", 1000): {},
	} {
		got, err := r.Read(request("X-API-Key", key), nil)
		if diff := cmp.Diff(want, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%.20s: %v (-want +got):\n%s", key, err, diff)
		}
	}
	if _, err := r.Read(request("X-API-Key", "old", "X-API-Key", "new"), nil); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("two keys: %v", err)
	}
}

func TestNewDigests_rejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.txt")
	good := digest("a")
	const noName = ` is no name, but what a hash command prints for its input: write echo "$(printf %s "$KEY" | sha256sum | cut -d ' ' -f 1) NAME" >> ` + "FILE"
	for want, content := range map[string]string{
		":1: -" + noName:      good + "  -\n",
		":2: *-" + noName:     good + " ada\n" + digest("b") + " *-\n",
		":1: *stdin" + noName: good + " *stdin\n",
		":1: the digest must be 64 hexadecimal digits":       good[1:],
		":2: the digest must be 64 hexadecimal digits":       "\nplain-text-key",
		":3: duplicate digest":                               good + " a\n\n" + strings.ToUpper(good) + " b",
		":1: the name must not contain spaces":               good + " a b",
		":1: the name must have at most 128 printable bytes": good + " a\u200bb",
		":2: the name must have at most 128 printable bytes": "#\n" + good + " " + strings.Repeat("n", 129),
		":1: longer than 512 bytes":                          "# " + strings.Repeat("c", 512),
		": the file has no digests":                          "# none\n",
		"read " + path + ": larger than 16777216 bytes":      strings.Repeat("\n", maxFile+1),
	} {
		if !strings.HasPrefix(want, "read ") {
			want = path + strings.Replace(want, "FILE", path, 1)
		}
		write(t, path, content, 0)
		if _, err := NewDigests(path); err == nil || err.Error() != "read digests: "+want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	if _, err := NewDigests(path + "-missing"); err == nil {
		t.Error("a missing file is accepted")
	}
}

func TestReader_reloadsFiles(t *testing.T) {
	dir := t.TempDir()
	digests, secrets, keys := filepath.Join(dir, "keys.txt"), filepath.Join(dir, "hmac.txt"), filepath.Join(dir, "jwks.json")
	write(t, digests, digest("one"), 0)
	write(t, secrets, "k1 "+strings.Repeat("11", 32), 0)
	write(t, keys, jwks(t, jwk(rsaKey, "r1")), 0)
	d, err := NewDigests(digests)
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHMACFile(secrets)
	if err != nil {
		t.Fatal(err)
	}
	var reports []string
	r := mustNew(t, Options{OnReload: func(source string, err error) {
		reports = append(reports, fmt.Sprint(filepath.Base(source), ": ", err))
	}},
		one{name: "key", Identity: Identity{Header: "X-API-Key"}, verify: d},
		one{name: "device", Identity: Identity{Fingerprint: "X-Fingerprint"}, verify: h},
		one{name: "other", Identity: Identity{Query: "key"}, verify: d},
		one{name: "user", Identity: Identity{JWT: &JWT{Keys: keys}}},
	)
	verified := func(key, token string) string {
		var got []string
		if _, err := d.Verify(t.Context(), key); err == nil {
			got = append(got, key)
		}
		found, err := r.Read(request("Authorization", "Bearer "+token), nil)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(got, found.Subjects...), " ")
	}
	oldToken, newToken := sign(t, rsaKey, "r1", valid()), sign(t, ecKey, "e1", valid())
	oldPrint, err := h.Sign("c", "ab12", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name                    string
		digests, secrets, keys  string
		key, token, fingerprint string
		verified                string
		reports                 []string
	}{
		{name: "at first", key: "one", token: oldToken, verified: "one user=42"},
		{name: "a later key is unknown", key: "two", token: newToken, verified: ""},
		{
			name: "rotated", digests: digest("two"), secrets: "k2 " + strings.Repeat("22", 32) + "\nk1 " + strings.Repeat("11", 32), keys: jwks(t, jwk(ecKey, "e1")),
			key: "two", token: newToken, verified: "two user=42", reports: []string{"hmac.txt: <nil>", "keys.txt: <nil>", "jwks.json: <nil>"},
		},
		{name: "an earlier key is unknown", key: "one", token: oldToken, verified: ""},
		{
			name: "invalid files", digests: "two", secrets: "k3 short", keys: "{}",
			key: "two", token: newToken, verified: "two user=42", reports: []string{
				"hmac.txt: " + secrets + ":1: the secret must be hexadecimal digits",
				"keys.txt: " + digests + ":1: the digest must be 64 hexadecimal digits",
				"jwks.json: read " + keys + ": a JWK Set must have 1 to 64 keys, got 0",
			},
		},
		{name: "still invalid", key: "two", token: newToken, verified: "two user=42"},
		{name: "emptied", digests: "# none\n", key: "two", token: newToken, verified: "user=42", reports: []string{"keys.txt: " + digests + ": the file has no digests"}},
		{name: "filled", digests: digest("two"), key: "two", token: newToken, verified: "two user=42", reports: []string{"keys.txt: <nil>"}},
	} {
		reports = nil
		for path, content := range map[string]string{digests: step.digests, secrets: step.secrets, keys: step.keys} {
			if content != "" {
				write(t, path, content, time.Duration(len(content))*time.Millisecond)
			}
		}
		r.poll(time.Now())
		if got := verified(step.key, step.token); got != step.verified {
			t.Errorf("%s: verified %q, want %q", step.name, got, step.verified)
		}
		if diff := cmp.Diff(step.reports, reports); diff != "" {
			t.Errorf("%s: reports (-want +got):\n%s", step.name, diff)
		}
		if _, err := h.Verify(t.Context(), oldPrint); err != nil { // k1 verifies all along
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if value, err := h.Sign("c", "ab12", time.Now().Add(time.Hour)); err != nil || !strings.Contains(value, ".k2.") {
		t.Errorf("the first key signs: %s, %v", value, err)
	}
}

func TestNewHMACFile_rejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hmac.txt")
	secret := strings.Repeat("ab", 32)
	for want, content := range map[string]string{
		":1: the line must be a key ID and a secret":                       secret,
		":2: the secret must be hexadecimal digits":                        "# c\nk1 " + secret[1:],
		":1: the secret must have at least 32 bytes, got 31":               "k1 " + secret[2:],
		":1: the key ID must be 1 to 32 of the characters A-Z a-z 0-9 _ -": "k.1 " + secret,
		":2: duplicate key ID k1":                                          "k1 " + secret + "\nk1 " + strings.Repeat("cd", 32),
		":2: keys k1 and k2 have the same secret":                          "k1 " + secret + "\nk2 " + secret,
		": an HMAC must have 1 to 16 keys, got 0":                          "",
	} {
		write(t, path, content, 0)
		_, err := NewHMACFile(path)
		if err == nil || err.Error() != "read HMAC keys: "+path+want {
			t.Errorf("want %s, got %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), secret[1:20]) {
			t.Errorf("the secret is in the error: %v", err)
		}
	}
}

func TestReader_closeStopsBackgroundWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.txt")
	write(t, path, digest("one"), 0)
	d, err := NewDigests(path)
	if err != nil {
		t.Fatal(err)
	}
	r := mustNew(t, Options{}, one{name: "key", Identity: Identity{Header: "X-API-Key"}, verify: d})
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Verify(context.Background(), "one"); err != nil {
		t.Error(err)
	}
}
