package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestServe_rejectsFlagsThatDoNotFit(t *testing.T) {
	for flags, want := range map[string]string{
		"--drain -1s":         "rlfunc serve: --drain-delay and --drain must not be negative\n",
		"--drain-delay -1s":   "rlfunc serve: --drain-delay and --drain must not be negative\n",
		"--api-tokens nofile": "rlfunc serve: --api-tokens needs --api\n",
		"--announce a:b":      "rlfunc serve: --announce must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , or empty, got \"a:b\"\n",
		"--max-connections 0": "rlfunc serve: --max-connections must be at least 1, got 0\n",
	} {
		if code, said := rlfunc(append([]string{"serve"}, strings.Fields(flags)...)...); code != exitcode.Error || said != want {
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
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log lockedBuffer
	ended := make(chan exitcode.Code)
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
	log.await(t, "rlfunc plan, deploy and retire do not see this process") // its user may not announce
	stop()
	if code := <-ended; code != exitcode.OK {
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
