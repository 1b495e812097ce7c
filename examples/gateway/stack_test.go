// Package gateway tests the proxies of this folder, each in front of a service and beside rlfunc serve.
package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestMain(m *testing.M) { engines.Main(m) }

// A stack is the proxies, a service, Redis, and rlfunc serve.
type stack struct {
	proxies  map[string]string // addresses by name
	redis    *engines.Member
	serve    engines.Process
	command  []string // that starts serve
	policy   string   // file
	reached  atomic.Int64
	requests atomic.Int64 // with status 200
}

var names = []string{"nginx", "caddy", "haproxy"}

func start(t *testing.T) *stack {
	t.Helper()
	dir := t.TempDir()
	s := &stack{redis: engines.OnPath(t).Start(t), policy: filepath.Join(dir, "limits.yaml"), proxies: map[string]string{}}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.reached.Add(1)
		fmt.Fprintln(w, "hello")
	}))
	t.Cleanup(service.Close)
	limits := engines.FreeAddr(t)
	s.writePolicy(t, "rate: 10/1h", "rate: 10/1h")
	program := filepath.Join(dir, "rlfunc")
	onpath.Used() // what it reads is not part of this program
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "../../cmd/rlfunc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.command = []string{
		program, "serve", "--policy", s.policy, "--redis", "redis://" + s.redis.Addr, "--http", limits, "--grpc", engines.FreeAddr(t),
	}
	s.startServe(t)
	addresses := []string{"127.0.0.1:8080", limits, "127.0.0.1:9000", service.Listener.Addr().String()}
	for i, name := range names {
		s.proxies[name] = engines.FreeAddr(t)
		_, port, _ := net.SplitHostPort(s.proxies[name])
		own := fmt.Sprintf(":800%d", i)
		addresses = append(addresses, own+";", ":"+port+";", own+"\n", ":"+port+"\n", own+" {", ":"+port+" {")
	}
	move := strings.NewReplacer(addresses...)
	for _, file := range []string{"nginx.conf", "Caddyfile", "haproxy.cfg", "forward_auth.lua"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		moved := move.Replace(string(text))
		if file == "haproxy.cfg" {
			moved = strings.Replace(moved, "lua-load ", "lua-load "+dir+"/", 1)
			moved = strings.ReplaceAll(moved, "abns@forward-auth", "abns@"+strings.ReplaceAll(dir, "/", "-")) // of this test alone
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(moved), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"nginx":   {"-p", dir, "-c", "nginx.conf", "-g", "master_process off;"}, // one process, which Kill ends,
		"caddy":   {"run", "--config", filepath.Join(dir, "Caddyfile"), "--adapter", "caddyfile"},
		"haproxy": {"-db", "-f", filepath.Join(dir, "haproxy.cfg")},
	} {
		p := engines.Beside(t, onpath.Program(t, name), args...)
		await(t, name+" answers", p, s.proxies[name])
	}
	return s
}

func (s *stack) startServe(t *testing.T) {
	t.Helper()
	s.serve = engines.Beside(t, s.command[0], s.command[1:]...)
	await(t, "rlfunc serve answers", s.serve, s.command[7])
}

// await waits until a process listens.
func await(t *testing.T, what string, p engines.Process, addr string) {
	t.Helper()
	eventually(t, what, func() bool {
		select {
		case <-p.Ended:
			t.Fatalf("%s: it ended: %s", what, p.Output())
		default:
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after 20 s: %s", what)
		}
	}
}

// writePolicy writes the policy of this folder with a change, and with time for a busy machine.
func (s *stack) writePolicy(t *testing.T, old, changed string) {
	t.Helper()
	text, err := os.ReadFile("limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy := strings.Replace(string(text), old, changed, 1)
	policy = strings.Replace(policy, "version: 1\n", "version: 1\ntimeout: 10s\n", 1)
	if err := os.WriteFile(s.policy, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An answer is a response of a proxy.
type answer struct {
	status int
	header http.Header
	body   string
}

// A client sends requests from an address of its own to one proxy.
type client struct {
	http.Client
	stack *stack
	proxy string
}

func (s *stack) client(t *testing.T, proxy, ip string) *client {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	transport := &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{Client: http.Client{Transport: transport, Timeout: 30 * time.Second}, stack: s, proxy: s.proxies[proxy]}
}

// get sends a request with headers, which are pairs.
func (c *client) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.proxy+path, nil)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := c.Do(r)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		c.stack.requests.Add(1)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}
