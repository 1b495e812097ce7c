package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const (
	interpreter = "/usr/bin/python3"     // Debian's, which sees python3-redis
	nodeModules = "/usr/share/nodejs"    // Debian's
	clients     = "../../gen/typescript" // npm's package
)

func TestPython_sharesTheAccount(t *testing.T) {
	if err := exec.Command(interpreter, "-c", "import redis").Run(); err != nil {
		onpath.Lacking(t, "%s lacks redis: %v", interpreter, err)
	}
	path, err := filepath.Abs("../../gen/python")
	if err != nil {
		t.Fatal(err)
	}
	sharesTheAccount(t, []string{"PYTHONPATH=" + path, "PYTHONDONTWRITEBYTECODE=1"}, interpreter, "outbound.py")
}

func TestTypeScript_sharesTheAccount(t *testing.T) {
	onpath.Full(t)
	tsc, node := onpath.Program(t, "tsc"), onpath.Program(t, "node")
	if _, err := os.Stat(nodeModules + "/redis"); err != nil {
		onpath.Lacking(t, "node-redis is not installed: %v", err)
	}
	dir := t.TempDir()
	program, err := os.ReadFile("outbound.ts")
	for name, text := range map[string]string{"outbound.ts": string(program), "node.d.ts": nodeTypes, "tsconfig.json": tsconfig} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	installed := filepath.Join(dir, "node_modules", "rlfunc-clients")
	if err = errors.Join(err, os.CopyFS(installed, os.DirFS(clients))); err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{installed, dir} {
		if out, err := exec.CommandContext(t.Context(), tsc, "-p", project).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sharesTheAccount(t, []string{"NODE_PATH=" + nodeModules}, node, filepath.Join(dir, "outbound.js"))
}

const (
	tsconfig = `{
  "compilerOptions": {
    "target": "ES2022", "module": "CommonJS", "moduleResolution": "node", "lib": ["ES2022", "DOM"], "types": [], "strict": true, "skipLibCheck": true,
    "baseUrl": ".", "paths": {"rlfunc-clients": ["./node_modules/rlfunc-clients"], "*": ["` + nodeModules + `/*"]}
  },
  "include": ["*.ts"]
}`
	// What the program and node-redis use of Node.js: Debian has no @types/node.
	nodeTypes = `declare module "node:crypto" { export function randomUUID(): string }
declare module "events" { export class EventEmitter { on(event: string, listener: (...args: any[]) => void): this } }
declare const process: { argv: string[] };
declare class Buffer extends Uint8Array {}
`
)

// A program in another language shares the account's limits, budgets and pauses with guard.
func sharesTheAccount(t *testing.T, env []string, command ...string) {
	answers := []int{http.StatusOK, http.StatusBadRequest, http.StatusServiceUnavailable, 529}
	after := []string{"", "", "0.5", time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if after[0] != "" {
			w.Header().Set("Retry-After", after[0])
		}
		after = after[1:]
		w.WriteHeader(answers[0])
		answers = answers[1:]
		_, _ = w.Write([]byte(`{"usage": {"prompt_tokens": 100, "completion_tokens": 23}}`))
	}))
	defer upstream.Close()
	server := embedded.New(embedded.Options{})
	defer server.Close()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("limits.yaml", limits)
	if err != nil {
		t.Fatal(err)
	}
	p.Upstreams[0].MaxWait = new(time.Minute)
	g, err := guard.New(server, p, guard.Options{CacheSize: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	transport, err := outbound.New(g, outbound.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.Pause(t.Context(), "account=llm/other", time.Second); err != nil { // loads the library
		t.Fatal(err)
	}
	acquire := func() (*outbound.Call, error) { return transport.Acquire(t.Context(), guard.Request{Endpoint: "llm"}) }
	call, err := acquire()
	if err != nil {
		t.Fatal(err)
	}
	call.End(t.Context(), guard.End{})
	program := func() (string, error) {
		c := exec.CommandContext(t.Context(), command[0], append(command[1:], "redis://"+addr.String(), upstream.URL)...)
		c.Env = append(os.Environ(), env...)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := program(); err != nil || !strings.Contains(out, "prompt_tokens") {
		t.Fatal(out, err)
	}
	if call, err = acquire(); err != nil || call.Decision.Limits[0].Remaining != 57 || call.Decision.Budgets[0].Remaining != (40_000-1500-123-1500)*1_000_000 {
		t.Fatalf("after a call by guard, one by the program, and one by guard: %+v %v", call, err)
	}
	call.End(t.Context(), guard.End{})
	for _, status := range []string{"400", "503", "529"} { // the second pauses for half a second
		if out, err := program(); err == nil || !strings.Contains(out, status) {
			t.Fatal(out, err)
		}
	}
	var refused *outbound.RefusedError
	if _, err = acquire(); !errors.As(err, &refused) || refused.Decision.Reason != guard.ReasonBlocked || refused.Decision.RetryAfter < 500*time.Second {
		t.Errorf("after a pause that the program learned: %v", err)
	}
	if out, err := program(); err == nil || !strings.Contains(out, "is refused by blocked") {
		t.Error(out, err)
	}
}
