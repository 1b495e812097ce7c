package identity

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/maypok86/otter/v2"
)

func (c *tokenCache) otter() *otter.Cache[tokenID, *cachedToken] {
	return c.valid.(*otter.Cache[tokenID, *cachedToken])
}

// cached returns the number of tokens in the reader's cache.
func cached(r *Reader) int {
	r.tokens.otter().CleanUp()
	return r.tokens.otter().EstimatedSize()
}

// A token that one verification accepts may be invalid for another.
func TestTokenCache_isPerVerification(t *testing.T) {
	r := tokenReader(t)
	a, b := *r.sources[0].JWT, *r.sources[1].JWT
	b.Audience = "other"
	r = mustNew(t, Options{}, Config{Name: "a", JWT: &a}, Config{Name: "b", JWT: &b})
	for range 2 {
		got, err := r.Read(request("Authorization", "Bearer "+sign(t, rsaKey, "r1", valid())), nil)
		if diff := cmp.Diff([]string{"a=42"}, got.Subjects); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestTokenCache_expiresWithTheTokenOrAfterFiveMinutes(t *testing.T) {
	r := tokenReader(t)
	now := time.Now().Truncate(time.Second)
	r.now = func() time.Time { return now }
	long := sign(t, rsaKey, "r1", valid(object{"exp": now.Add(time.Hour).Unix()}))
	short := sign(t, rsaKey, "r1", valid(object{"sub": "43", "exp": now.Add(time.Minute).Unix()}))
	users := func() (all string) {
		for _, token := range []string{long, short} {
			found, err := r.Read(request("Authorization", "Bearer "+token), nil)
			if err != nil {
				t.Fatal(err)
			}
			all += found.Subject("user") + " "
		}
		return all
	}
	entry := func(token string) *cachedToken {
		e, _ := r.tokens.valid.GetIfPresent(tokenID{0, sha256.Sum256([]byte(token))})
		return e
	}
	start := now
	for _, step := range []struct {
		at   time.Duration
		want string
		kept bool // the long token is still cached from the previous step
	}{
		{0, "user=42 user=43 ", false},
		{time.Minute, "user=42 user=43 ", true},
		{90 * time.Second, "user=42 user=43 ", true}, // exp and the leeway of 30 s
		{90*time.Second + 1, "user=42  ", true},
		{5 * time.Minute, "user=42  ", true},
		{5*time.Minute + 1, "user=42  ", false}, // verified again
		{0, "user=42 user=43 ", true},           // the clock is set back
		{time.Hour + 31*time.Second, "  ", false},
	} {
		before := entry(long)
		now = start.Add(step.at)
		if got := users(); got != step.want {
			t.Errorf("at %v: got %q, want %q", step.at, got, step.want)
		}
		if got := before != nil && entry(long) == before; got != step.kept {
			t.Errorf("at %v: from the cache: %v", step.at, got)
		}
	}
	if n := cached(r); n > 1 {
		t.Errorf("%d tokens are cached after their end", n)
	}
}

// After a reload, tokens of removed keys are invalid and tokens of added keys are valid.
func TestTokenCache_followsTheKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jwks.json")
	write(t, path, jwks(t, jwk(rsaKey, "r1")), 0)
	r := mustNew(t, Options{}, Config{Name: "user", JWT: &JWT{Keys: path}})
	old, new := sign(t, rsaKey, "r1", valid()), sign(t, ecKey, "e1", valid(object{"sub": "43"}))
	users := func() string {
		a, _ := r.Read(request("Authorization", "Bearer "+old), nil)
		b, _ := r.Read(request("Authorization", "Bearer "+new), nil)
		return a.Subject("user") + " " + b.Subject("user")
	}
	rotate := func(content string) {
		t.Helper()
		if err := os.WriteFile(path+"~", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
		r.poll(time.Now().Add(time.Second))
	}
	both := jwks(t, jwk(rsaKey, "r1"), jwk(ecKey, "e1"))
	for i, step := range []struct{ keys, want string }{
		{jwks(t, jwk(rsaKey, "r1")), "user=42 "},
		{both, "user=42 user=43"},
		{jwks(t, jwk(ecKey, "e1")), " user=43"},
		{both, "user=42 user=43"},
		{jwks(t, jwk(otherKey, "r1")), " "}, // another key with the same ID
		{"no keys at all", " "},             // the old keys stay in use
	} {
		rotate(step.keys)
		for range 2 { // the second time from the cache
			if got := users(); got != step.want {
				t.Errorf("step %d: got %q, want %q", i+1, got, step.want)
			}
		}
	}
}

// A client that makes tokens up evicts none that are valid.
func TestTokenCache_refusedTokensEvictNone(t *testing.T) {
	r := tokenReader(t)
	good := sign(t, rsaKey, "r1", valid())
	for i := range 200 {
		for _, token := range []string{
			fmt.Sprintf("a.%d.c", i), good[:len(good)-4] + fmt.Sprintf("%04d", i), raw(`{"alg":"none"}`, fmt.Sprint(i), nil),
			byHand(secretKey, `{"alg":"HS256","kid":"s1"}`, fmt.Sprintf(`{"exp":%d}`, i)), strings.Repeat("x", i*100),
		} {
			if found, err := r.Read(request("Authorization", "Bearer "+token), nil); err != nil || len(found.Subjects) > 0 {
				t.Fatalf("%.60s: %v, %v", token, found.Subjects, err)
			}
		}
	}
	if n := cached(r); n != 0 {
		t.Errorf("%d invalid tokens are cached as valid ones", n)
	}
	refused, keys := r.tokens.refused.(*otter.Cache[tokenID, *cachedToken]), new([]key)
	for i := range 20_000 {
		r.tokens.refuse(tokenID{0, sha256.Sum256(fmt.Append(nil, i))}, keys, time.Now(), never)
	}
	if refused.CleanUp(); refused.WeightedSize() > refusedBytes {
		t.Errorf("refused tokens weigh %d", refused.WeightedSize())
	}
}

// A countingKey counts the signatures that are verified with it.
type countingKey struct{ verified *int }

func (k countingKey) VerifyPayload([]byte, []byte, jose.SignatureAlgorithm) error {
	*k.verified++
	return errors.New("another key signed it")
}

// The signatures that a request has verified are at most three times those of one token, and none for a token that was refused before.
func TestRead_boundsTheSignaturesOfARequest(t *testing.T) {
	lines := func(n int, kid string) (all []string) {
		header := object{}
		if kid != "" {
			header["kid"] = kid
		}
		for i := range n {
			all = append(all, "Authorization", "Bearer "+signWith(t, otherKey, jose.RS256, header, valid(object{"jti": fmt.Sprint(i)})))
		}
		return all
	}
	with := func(kids ...string) *[]key {
		keys := make([]key, len(kids))
		for i, kid := range kids {
			keys[i] = key{id: kid, algorithms: algorithms}
		}
		return &keys
	}
	for _, c := range []struct {
		what    string
		keys    *[]key
		headers []string
		want    int
	}{
		{"a token", with("a", "b"), lines(1, "a"), 1},
		{"a token without a kid", with("a", "b", "c", "d", "e", "f", "g", "h"), lines(1, ""), 8},
		{"three", with("a", "b"), lines(3, "a"), 3},
		{"three without a kid", with("a", "b", "c", "d", "e", "f", "g", "h"), lines(3, ""), 24},
		{"a kid, and 64 keys without", with(make([]string, 64)...), lines(1, "a"), 8},
		{"a kid that 64 keys have", with(strings.Split(strings.Repeat("a ", 63)+"a", " ")...), lines(1, "a"), 8},
		{"four", with("a"), lines(4, "a"), 0},
		{"eight without a kid", with("a", "b", "c", "d", "e", "f", "g", "h"), lines(8, ""), 0},
	} {
		r, verified := tokenReader(t), 0
		for i := range *c.keys {
			(*c.keys)[i].key = countingKey{&verified}
		}
		r.verifications[0].keys.keys.Store(c.keys)
		for _, want := range []int{c.want, c.want} { // the second time, the tokens are known
			found, err := r.Read(request(c.headers...), nil)
			if len(found.Subjects) > 0 || verified != want || (err != nil) != (c.want == 0) {
				t.Errorf("%s: %d signatures, want %d: %+v, %v", c.what, verified, want, found, err)
			}
		}
	}
}

// A token is verified once until it may be valid.
func TestRead_verifiesATokenOfLaterAgain(t *testing.T) {
	start := time.Now().Truncate(time.Second)
	later := request("Authorization", "Bearer "+sign(t, rsaKey, "r1", valid(object{"nbf": start.Add(time.Minute).Unix(), "exp": start.Add(time.Hour).Unix()})))
	for at, want := range map[time.Duration]string{0: "", 29 * time.Second: "", 31 * time.Second: "user=42", 10 * time.Minute: "user=42"} {
		r := tokenReader(t)
		for _, at := range []time.Duration{0, at, at} {
			r.now = func() time.Time { return start.Add(at) }
			if found, err := r.Read(later, nil); err != nil || at > 0 && found.Subject("user") != want {
				t.Errorf("after %v: %+v, %v, want %s", at, found, err, want)
			}
		}
	}
}

// Many tokens, short or with claims of 8 KiB, take no more than the cache's share, and those in use go on to count.
func TestTokenCache_isBounded(t *testing.T) {
	for _, size := range []int{8, 8 << 10} {
		c, keys := newTokenCache(), new([]key)
		now := time.Now()
		before := heap()
		for i := range 60_000 {
			if size > 8 && i == 6000 {
				break
			}
			id := tokenID{0, sha256.Sum256(fmt.Append(nil, i))}
			c.keep(id, keys, []string{fmt.Sprintf("%0*d", size, i)}, now, now.Add(time.Hour))
			if _, ok := c.find(id, keys, now); !ok && i == 0 {
				t.Error("the first token is not cached")
			}
		}
		c.otter().CleanUp()
		if weight := c.otter().WeightedSize(); weight > cacheBytes || weight < cacheBytes/2 {
			t.Errorf("tokens of %d bytes weigh %d", size, weight)
		}
		took := heap() - before
		if !raced && took > cacheBytes*5/4 {
			t.Errorf("tokens of %d bytes take %d bytes, the bound is %d", size, took, cacheBytes)
		}
		t.Logf("%d tokens of %d bytes: %d bytes of heap", c.otter().EstimatedSize(), size, took)
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTokenCache_manyReadAtOnce(t *testing.T) {
	r := tokenReader(t)
	keys := []string{jwks(t, jwk(rsaKey, "r1")), jwks(t, jwk(rsaKey, "r1"), jwk(ecKey, "e1"))}
	token := sign(t, rsaKey, "r1", valid())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				if found, err := r.Read(request("Authorization", "Bearer "+token), nil); err != nil || found.Subject("user") != "user=42" {
					t.Errorf("%+v, %v", found, err)
				}
			}
		})
	}
	for i := range 50 {
		if err := r.verifications[0].keys.set([]byte(keys[i%2]), false); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}
