package httpguard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// BenchmarkPath is the work for a path before anything is decided: a hostile one takes at most 1 ms.
func BenchmarkPath(b *testing.B) {
	p, err := policy.Parse("policy.yaml", []byte(`
endpoints:
  - {name: chat, match: ["POST /v1/chat", "/t/{tenant}/{rest...}", "/files/"], limits: [{name: minute, limit: 1, window: 1m}]}`))
	if err != nil {
		b.Fatal(err)
	}
	g, err := guard.New(redis.NewClient(&redis.Options{}), p, guard.Options{CacheSize: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	m, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{
		"plain":      "/v1/chat",
		"plain_1MiB": "/files/" + strings.Repeat("a/", 1<<19) + "a",
		"slashes":    strings.Repeat("/", 256),
		"dots":       strings.Repeat("/.", 256),
		"parents":    strings.Repeat("/a/..", 128),
		"escapes":    strings.Repeat("/%2e", 256),
		"letters":    "/" + strings.Repeat("/aaaaaaaa%61aaaaaaaa%61", 255),
		"long":       strings.Repeat("/", 1<<20),
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.URL.Path, r.URL.RawPath = strings.NewReplacer("%2e", ".", "%61", "a").Replace(path), path
			for b.Loop() {
				_, _ = m.Explain(r)
			}
		})
	}
}
