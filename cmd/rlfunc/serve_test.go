package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestServe_rejectsFlagsThatDoNotFit(t *testing.T) {
	for flags, want := range map[string]string{
		"--drain -1s":         "rlfunc serve: --drain-delay and --drain must not be negative\n",
		"--drain-delay -1s":   "rlfunc serve: --drain-delay and --drain must not be negative\n",
		"--api-tokens nofile": "rlfunc serve: --api-tokens needs --api\n",
		"--max-connections 0": "rlfunc serve: --max-connections must be at least 1, got 0\n",
	} {
		if code, said := rlfunc(append([]string{"serve"}, strings.Fields(flags)...)...); code != exitError || said != want {
			t.Errorf("%s: exit code %d: %s", flags, code, said)
		}
	}
}

// A lockedBuffer is a log that a test reads while it is written.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) lines() []string {
	b.Lock()
	defer b.Unlock()
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}

// await waits until a line has a text, and returns its record.
func (b *lockedBuffer) await(t *testing.T, text string) (record map[string]any) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, line := range b.lines() {
			if strings.Contains(line, text) {
				if err := json.Unmarshal([]byte(line), &record); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				return record
			}
		}
	}
	t.Fatalf("no record has %s:\n%s", text, strings.Join(b.lines(), "\n"))
	return nil
}

// Records of package guard have the form of all others. --drain 0s waits for nothing.
func TestServe_logsJSON(t *testing.T) {
	real := engines.Real(t)
	if len(real) == 0 {
		t.Skip("SKIPPED: the embedded engine has no ACLs")
	}
	e := real[0]
	user := as(t, e, e.Client(t), aclLine(t, "service", "guard"))
	file := filepath.Join(t.TempDir(), "limits.yaml")
	const limits = "identities: {ip: {trusted_proxies: [127.0.0.1]}}\nendpoints: [{name: all, match: [/], limits: [{name: minute, limit: 9, window: 1m}]}]"
	write(t, file, limits)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log lockedBuffer
	ended := make(chan exitCode)
	go func() {
		ended <- runUntil(ctx, []string{"serve", "--policy", file, "--redis", user, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--drain", "0s"}, strings.NewReader(""), &log, &log)
	}()
	address := log.await(t, `"msg":"serving"`)["http"].(string)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/forward-auth", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Method": "GET", "Uri": "/", "Host": "shop", "For": "192.0.2.1"} {
		r.Header.Set("X-Forwarded-"+name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	log.await(t, "cannot read overrides")
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if record := log.await(t, `"msg":"draining"`); record["drain"] != "0s" {
		t.Errorf("%v", record)
	}
	for _, line := range log.lines() {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// serveUntil runs serve in the background, until the returned func ends it and returns its exit code.
func serveUntil(t *testing.T, log *lockedBuffer, args ...string) (end func() exitCode) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan exitCode, 1)
	args = append([]string{"serve", "--redis", "embedded", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, args...)
	go func() { ended <- runUntil(ctx, args, strings.NewReader(""), log, log) }()
	return func() exitCode {
		stop(signalError{Signal: syscall.SIGTERM})
		return <-ended
	}
}

func policyIn(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "limits.yaml")
	write(t, file, text)
	return file
}

const unlimited = "endpoints: [{name: all, match: [/], unbounded: true}]\n"

// SIGHUP reads the policy and its keys at once, keeps the old content of those that are not valid, and says so each time.
func TestServe_reloadsAtSIGHUP(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.txt")
	withKeys := "identities: {key: {header: X-Key, verify: {sha256_file: " + keys + "}}}\n" + unlimited
	file := policyIn(t, unlimited)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	end := serveUntil(t, &log, "--policy", file)
	log.await(t, `"msg":"serving"`)
	for i, step := range []struct {
		policy, keys, said string
		failed             []any
	}{
		{unlimited, "", "serving", []any{}},
		{"namespace: other\n" + unlimited, "", "cannot change namespace from rl to other", []any{file}},
		{"namespace: other\n" + unlimited, "", "cannot change namespace from rl to other", []any{file}},
		{withKeys, "", "keys.txt: no such file", []any{file}},
		{withKeys, strings.Repeat("a", 64) + " ada\n", "policy replaced", []any{}},
		{withKeys, "no digest", "keys.txt:1: the digest must be", []any{keys}},
	} {
		for path, text := range map[string]string{file: step.policy, keys: step.keys} {
			if text == "" {
				continue
			}
			write(t, path+"~", text)
			must(t, os.Rename(path+"~", path))
		}
		must(t, self.Signal(syscall.SIGHUP))
		var text string
		for deadline := time.Now().Add(20 * time.Second); strings.Count(text, `"msg":"reloaded"`) <= i; time.Sleep(10 * time.Millisecond) {
			if text = strings.Join(log.lines(), "\n"); time.Now().After(deadline) {
				t.Fatalf("step %d: not reloaded after 20 s:\n%s", i, text)
			}
		}
		var record map[string]any
		last := text[strings.LastIndex(text[:strings.LastIndex(text, `"msg":"reloaded"`)], "\n")+1:]
		must(t, json.NewDecoder(strings.NewReader(last)).Decode(&record))
		if diff := cmp.Diff(step.failed, record["failed"]); diff != "" || !strings.Contains(text, step.said) {
			t.Errorf("step %d: failed (-want +got):\n%s\nno %q in:\n%s", i, diff, step.said, text)
		}
	}
	if code := end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestServe_exitCodes(t *testing.T) {
	good, taken := policyIn(t, unlimited), filepath.Join(t.TempDir(), "http.sock")
	l, err := net.Listen("unix", taken)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		args string
		code exitCode
		said string
	}{
		{"--policy " + policyIn(t, "limits: 5\n"), exitInvalid, "limits.yaml:1:9: limits: must be a list"},
		{"--api 0.0.0.0:0 --policy " + good, exitInvalid, "not a loopback address, so programs there must prove who they are: give --api-tokens or --tls-client-ca"},
		{"--api 127.0.0.1:0 --api-tokens nofile --policy " + good, exitInvalid, "nofile: no such file"},
		{"--tls-cert nofile --tls-key nofile --policy " + good, exitInvalid, "nofile: no such file"},
		{"--http unix:" + taken + " --policy " + good, exitNoListener, "--http: listen on unix:" + taken + ": another process listens there"},
		{"--http 127.0.0.1:x --policy " + good, exitNoListener, "--http: listen tcp: "},
		{"--http unix:" + good + " --policy " + good, exitNoListener, "there is a file that is not a socket"},
	} {
		args := append([]string{"serve", "--redis", "embedded", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, strings.Fields(c.args)...)
		if code, said := rlfunc(args...); code != c.code || !strings.Contains(said, c.said) {
			t.Errorf("%s: exit code %d: %s", c.args, code, said)
		}
	}

	var log lockedBuffer
	end := serveUntil(t, &log, "--policy", good, "--drain", "10ms")
	address := log.await(t, `"msg":"serving"`)["http"].(string)
	for _, request := range []string{"GET /livez HTTP/1.1\r\n", "GET /livez HTTP/1.1\r\nHost: l\r\n\r\n"} { // when the second one is answered, the first is accepted
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(request, "\r\n\r\n") {
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := end(); code != exitCutOff || !strings.Contains(strings.Join(log.lines(), "\n"), "drain: requests were still in flight after 10ms") {
		t.Errorf("exit code %d:\n%s", code, strings.Join(log.lines(), "\n"))
	}
}

// CLIENT LIST shows serve with the libraries that it calls.
func TestServe_saysWhichLibrariesItCalls(t *testing.T) {
	addr, file := listening(t), filepath.Join(t.TempDir(), "limits.yaml")
	write(t, file, servedLimits)
	ctx, stop := context.WithCancel(t.Context())
	var log lockedBuffer
	ended := make(chan exitCode)
	go func() {
		flags := []string{"serve", "--policy", file, "--redis", "redis://" + addr, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--drain", "0s"}
		ended <- runUntil(ctx, flags, strings.NewReader(""), &log, &log)
	}()
	log.await(t, `"msg":"ready"`)
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	want := `name=rlfunc-serve .* lib-name=go-redis\(guard_v1@[0-9.]+\+override_v1@[0-9.]+,`
	if list := rdb.ClientList(t.Context()).Val(); !regexp.MustCompile(want).MatchString(list) {
		t.Errorf("%s is not in\n%s", want, list)
	}
	stop()
	<-ended
}
