package examples

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// ada's key is the only one in keys.txt.
const ada = "f3b1c7d2a94e5068"

// A guarded is the program of guard/, built with other addresses.
type guarded struct{ bin, addr string }

func buildGuarded(t *testing.T, redis string) guarded {
	t.Helper()
	dir, addr := t.TempDir(), engines.FreeAddr(t)
	p := guarded{bin: filepath.Join(dir, "guard"), addr: addr}
	code := strings.NewReplacer("127.0.0.1:6379", redis, "127.0.0.1:8080", addr).Replace(read(t, "guard/main.go"))
	limits := read(t, "guard/limits.yaml") + "timeout: 20s\n" // a busy machine is no failure of Redis, which lets requests pass here
	for file, text := range map[string]string{
		"main.go": code, "limits.yaml": limits, "keys.txt": fmt.Sprintf("%x ada\n", sha256.Sum256([]byte(ada))),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shell(t, "..", nil, "go build -ldflags=-s -o "+p.bin+" "+filepath.Join(dir, "main.go"))
	return p
}

// start runs the program until the test ends. Each start has an empty deny cache.
func (p guarded) start(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.bin)
	cmd.Dir = filepath.Dir(p.bin)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", p.addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service does not listen: %v", err)
		}
	}
}

// post sends one request with a header, unless its name is empty.
func (p guarded) post(t *testing.T, name, value string) (status int, retryAfter, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.addr+"/v1/chat", nil)
	if err != nil {
		t.Error(err)
		return 0, "", ""
	}
	if name != "" {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, "", ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, response.Header.Get("Retry-After"), string(text)
}

// fifty sends 50 requests at once, the i-th with a header of that value, and counts the statuses.
func (p guarded) fifty(t *testing.T, name string, value func(i int) string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	for i := range 50 {
		all.Go(func() {
			status, retry, body := p.post(t, name, value(i))
			if status == http.StatusTooManyRequests && (retry == "" || !strings.Contains(body, `"error":"rate_limited"`)) {
				t.Errorf("Retry-After %q, %s", retry, body)
			}
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	all.Wait()
	return got
}

// A client without a known key has the 10 a minute of its address, whatever its headers.
func TestGuard_exampleLimitsClients(t *testing.T) {
	onpath.Full(t)
	same := func(text string) func(int) string { return func(int) string { return text } }
	all := engines.Ends(t)
	for _, e := range all[:min(2, len(all))] { // the tests of httpguard run on each engine
		t.Run(e.Name, func(t *testing.T) {
			p := buildGuarded(t, e.Addr)
			for _, attack := range []struct {
				what, header string
				value        func(i int) string
			}{
				{"one client", "", same("")},
				{"a fresh X-API-Key each", "X-Api-Key", func(i int) string { return fmt.Sprintf("key-%d", i) }},
				{"the name of a known key", "X-Api-Key", same("ada")},
				{"one made-up fingerprint", "X-Fingerprint", same("fp:a:b")},
				{"a fresh X-Fingerprint each", "X-Fingerprint", func(i int) string { return fmt.Sprintf("fp:click%d:device%d", i, i) }},
				{"a fresh X-Forwarded-For each", "X-Forwarded-For", func(i int) string { return fmt.Sprintf("203.0.113.%d", i) }},
				{"one Idempotency-Key", "Idempotency-Key", same("again")},
			} {
				t.Run(attack.what, func(t *testing.T) {
					e.Client(t)
					p.start(t)
					got := p.fifty(t, attack.header, attack.value)
					if diff := cmp.Diff(map[int]int{200: 10, 429: 40}, got); diff != "" {
						t.Errorf("50 at once against 10 a minute (-want +got):\n%s", diff)
					}
					t.Logf("%s, %s: 50 at once against 10 a minute: %d passed, %d were refused with Retry-After", e.Name, attack.what, got[200], got[429])
				})
			}
			t.Run("a known key is a client of its own", func(t *testing.T) {
				e.Client(t)
				p.start(t)
				for _, key := range []string{ada, ""} {
					if diff := cmp.Diff(map[int]int{200: 10, 429: 40}, p.fifty(t, "X-Api-Key", same(key))); diff != "" {
						t.Errorf("key %q (-want +got):\n%s", key, diff)
					}
				}
			})
		})
	}
}

func TestGuard_pageMatchesExample(t *testing.T) {
	for language, file := range map[string]string{"go": "guard/main.go", "yaml": "guard/limits.yaml"} {
		if got := blocks(t, "../docs/guard.md", language); len(got) != 1 || got[0] != read(t, file) {
			t.Errorf("docs/guard.md's %s is not examples/%s", language, file)
		}
	}
}

// The examples of other routers are a separate module.
func TestMiddleware_examplesPass(t *testing.T) {
	shell(t, "middleware", nil, "go vet ./... && go test ./...")
}
