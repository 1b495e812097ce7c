package examples

import (
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

	"github.com/rlfunc/rlfunc/lua_test/engines"
)

// guarded starts the program of guard/, with other addresses, and returns where it listens.
func guarded(t *testing.T, redis string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	code, err := os.ReadFile("guard/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "guard")
	text := strings.NewReplacer("127.0.0.1:6379", redis, "127.0.0.1:8080", addr).Replace(string(code))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	limits, err := os.ReadFile("guard/limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	limits = append(limits, "timeout: 20s\n"...) // a busy machine is no failure of Redis, which lets requests pass here
	if err := os.WriteFile(filepath.Join(dir, "limits.yaml"), limits, 0o644); err != nil {
		t.Fatal(err)
	}
	shell(t, "..", nil, "go build -o "+bin+" "+file)
	cmd := exec.CommandContext(t.Context(), bin)
	cmd.Dir = dir
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
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service does not listen: %v", err)
		}
	}
}

func chat(t *testing.T, addr, fingerprint string) (status int, retryAfter, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v1/chat", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Fingerprint", fingerprint)
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

func TestGuard_theExampleHolds(t *testing.T) {
	for _, e := range engines.All(t)[:2] { // each engine is httpguard's tests' business
		t.Run(e.Name, func(t *testing.T) {
			e.Client(t)
			addr := guarded(t, e.Addr)
			var mu sync.Mutex
			var all sync.WaitGroup
			got := map[int]int{}
			for i := range 50 {
				all.Go(func() {
					status, retry, body := chat(t, addr, fmt.Sprintf("fp:click%d:ada", i))
					if status == http.StatusTooManyRequests && (retry == "" || !strings.Contains(body, `"error":"rate_limited"`)) {
						t.Errorf("Retry-After %q, %s", retry, body)
					}
					mu.Lock()
					defer mu.Unlock()
					got[status]++
				})
			}
			all.Wait()
			if got[200] != 10 || got[429] != 40 {
				t.Errorf("50 at once against 10 a minute: %v", got)
			}
			t.Logf("%s: 50 at once against 10 a minute: %d passed, %d were refused with Retry-After", e.Name, got[200], got[429])
		})
	}
}

func TestGuard_thePageShowsTheExample(t *testing.T) {
	for language, file := range map[string]string{"go": "guard/main.go", "yaml": "guard/limits.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := blocks(t, "../docs/guard.md", language); len(got) != 1 || got[0] != string(text) {
			t.Errorf("docs/guard.md's %s is not examples/%s", language, file)
		}
	}
}

// The examples of other routers are a module of their own.
func TestMiddleware_examplesHold(t *testing.T) {
	shell(t, "middleware", nil, "go vet ./... && go test ./...")
}
