package examples

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const readme = "../README.md"

// curls is the loop that the README shows. The tests send the same requests from Go, because a machine may lack curl.
const curls = "for i in $(seq 12); do curl -s -o /dev/null -w '%{http_code} ' -X POST http://127.0.0.1:8080/v1/chat; done; echo\n"

// guarded is the README's program in a folder of its own, built with other addresses.
type guarded struct{ dir, addr string }

// buildGuarded makes a module of the README's program and its first policy, with no other file. The module uses this checkout, and so downloads nothing.
func buildGuarded(t *testing.T, redis string) guarded {
	t.Helper()
	p := guarded{dir: t.TempDir(), addr: engines.FreeAddr(t)}
	program := blocks(t, readme, "go")[0]
	for shown, used := range map[string]string{"127.0.0.1:6379": redis, "127.0.0.1:8080": p.addr} {
		if n := strings.Count(program, shown); n != 1 {
			t.Fatalf("the README's program has %s %d times, want once", shown, n)
		}
		program = strings.Replace(program, shown, used, 1)
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "go.mod", "module example\n\ngo 1.26.0\n")
	p.write(t, "main.go", program)
	p.setPolicy(t, blocks(t, readme, "yaml")[0])
	// In a workspace with the checkout, which the Go tool has compiled for the tests.
	shell(t, p.dir, nil, "go work init . '"+checkout+"' && go build -ldflags=-s -o program .")
	return p
}

func (p guarded) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// setPolicy writes limits.yaml with a longer timeout: on a busy machine a slow answer is no failure of Redis, and must not let requests pass.
func (p guarded) setPolicy(t *testing.T, text string) {
	t.Helper()
	p.write(t, "limits.yaml", text+"timeout: 20s\n")
}

// keyCommands are the commands of docs/protect-a-service.md that make an API key.
func keyCommands(t *testing.T) string {
	t.Helper()
	all := blocks(t, protect, "sh")
	return all[slices.IndexFunc(all, func(block string) bool { return strings.Contains(block, "keys.txt") })]
}

// addKey runs them in the program's folder, and returns the key.
func (p guarded) addKey(t *testing.T) string {
	t.Helper()
	commands := keyCommands(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands+`printf %s "$KEY"`)
	cmd.Dir = p.dir
	key, err := cmd.Output()
	if err != nil || len(key) == 0 {
		t.Fatalf("%s\nmade the key %q: %v", commands, key, err)
	}
	return string(key)
}

// start runs the program until the test ends. Each start has an empty deny cache.
func (p guarded) start(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(p.dir, "program"))
	cmd.Dir = p.dir
	p.run(t, cmd)
}

// run runs a program that listens on p's address until the test ends.
func (p guarded) run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
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
		select {
		case <-ended:
			t.Fatal("the program ended before it listened")
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program does not listen: %v", err)
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

// statuses sends n requests one by one, and returns their statuses as the README's loop prints them.
func (p guarded) statuses(t *testing.T, n int, name, value string) string {
	t.Helper()
	var printed strings.Builder
	for range n {
		status, _, _ := p.post(t, name, value)
		fmt.Fprintf(&printed, "%d ", status)
	}
	return printed.String()
}

// What a reader pastes from the README starts and limits its clients, and the API key of docs/protect-a-service.md is a client of its own.
func TestReadme_programLimitsClients(t *testing.T) {
	for _, program := range []string{"sh", "head", "base64", "sha256sum", "cut"} { // the commands for a key need them
		onpath.Program(t, program)
	}
	const tenPass = "200 200 200 200 200 200 200 200 200 200 429 429 "
	if shown := "\n```sh\n" + curls + "```\n\n```text\n" + strings.TrimSpace(tenPass) + "\n```\n"; !strings.Contains(read(t, readme), shown) {
		t.Errorf("the README does not show what this test sends and expects:\n%s", shown)
	}
	all := engines.Ends(t)
	for _, e := range all[:min(2, len(all))] { // the tests of httpguard run on each engine
		t.Run(e.Name, func(t *testing.T) {
			p := buildGuarded(t, e.Addr)
			var key string
			t.Run("the README", func(t *testing.T) {
				rdb := e.Client(t)
				p.start(t)
				if diff := cmp.Diff(tenPass, p.statuses(t, 12, "", "")); diff != "" {
					t.Errorf("as pasted (-want +got):\n%s", diff)
				}
				key = p.addKey(t)
				p.setPolicy(t, blocks(t, protect, "yaml")[1])
				// Until the program has read the new policy, it counts the address, which has no request left.
				first := ""
				for deadline := time.Now().Add(20 * time.Second); first != "200 "; time.Sleep(10 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("20 s after the policy has changed, a request with the key gets %s", first)
					}
					first = p.statuses(t, 1, "X-Api-Key", key)
				}
				if diff := cmp.Diff(tenPass, first+p.statuses(t, 11, "X-Api-Key", key)); diff != "" {
					t.Errorf("with the key (-want +got):\n%s", diff)
				}
				if named, err := rdb.Keys(t.Context(), "*key=ada*").Result(); err != nil || len(named) == 0 {
					t.Errorf("no key of Redis is that of the client ada: %v", err)
				}
			})
			if key == "" {
				return
			}
			p.attack(t, e, key)
		})
	}
}

// attack sends 50 requests at once, each time to a program that has just started. A client without a known key has the ten of its address, whatever its headers.
func (p guarded) attack(t *testing.T, e engines.Engine, key string) {
	same := func(text string) func(int) string { return func(int) string { return text } }
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
		{"a known key", "X-Api-Key", same(key)},
	} {
		t.Run(attack.what, func(t *testing.T) {
			e.Client(t)
			p.start(t)
			got := p.fifty(t, attack.header, attack.value)
			if diff := cmp.Diff(map[int]int{200: 10, 429: 40}, got); diff != "" {
				t.Errorf("50 at once against 10 per minute (-want +got):\n%s", diff)
			}
			t.Logf("%s, %s: 50 at once against 10 per minute: %d passed, %d were refused with Retry-After", e.Name, attack.what, got[200], got[429])
		})
	}
}

// The examples of other routers are a separate module.
func TestMiddleware_examplesPass(t *testing.T) {
	onpath.Full(t)
	shell(t, "middleware", nil, "go vet ./... && go test -vet=off ./...")
}
