package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
)

// runOutside runs a command line outside a project, and returns its exit code, standard output and standard error.
func runOutside(t *testing.T, args ...string) (exitcode.Code, string, string) {
	t.Helper()
	var out, errOut strings.Builder
	code := runUntil(t.Context(), append([]string{"-C", t.TempDir()}, args...), strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String()
}

// TestJSON_hasAFormat runs commands with --json. Each prints an object with a top-level format.
func TestJSON_hasAFormat(t *testing.T) {
	lines := []string{
		"acl deployer", "bundle ratelimit", "call ratelimit.gcra subject=u1 limit=7 period=1m --redis embedded", "call ratelimit.gcra subject=u1 limit=7 period=1m --redis embedded -n 2",
		"bench ratelimit.gcra subject=u limit=7 period=1m --redis embedded --for 1ms --subjects 1 -c 1", "deploy --redis embedded", "describe ratelimit", "doctor --redis embedded",
		"history --redis embedded", "init --template list", "init --no-tidy", "inspect key=a --redis embedded", "override list --redis embedded", "plan --redis embedded", "status --redis embedded",
		"top --once --redis embedded", "verify --redis embedded", "version",
	}
	for _, line := range lines {
		code, out, errOut := runOutside(t, append(strings.Fields(line), "--json")...)
		if code != exitcode.OK && code != exitcode.Findings {
			t.Errorf("rlfunc %s: exit %d: %s", line, code, errOut)
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(out))
		var object struct{ Format any }
		if err := decoder.Decode(&object); err != nil || object.Format != 1.0 {
			t.Errorf("rlfunc %s: format %v, %v in %s", line, object.Format, err, out)
		}
		if _, err := decoder.Token(); err != io.EOF {
			t.Errorf("rlfunc %s: more than an object", line)
		}
	}
}

func TestTimeout_endsACommand(t *testing.T) {
	began := time.Now()
	code, _, errOut := runOutside(t, "bench", "ratelimit.gcra", "subject=u", "limit=7", "period=1m", "--redis", "embedded", "--for", "60s", "--timeout", "100ms")
	if code != exitcode.Error || !strings.HasPrefix(errOut[strings.LastIndex(errOut, "rlfunc:"):], "rlfunc: stopped after 100ms (--timeout)") || time.Since(began) > 50*time.Second {
		t.Errorf("exit %d after %s: %s", code, time.Since(began), errOut)
	}
}

func TestQuiet_printsNoNotes(t *testing.T) {
	if _, _, errOut := runOutside(t, "inspect", "203.0.113.7", "--redis", "embedded"); errOut == "" {
		t.Error("no notes without --quiet")
	}
	code, out, errOut := runOutside(t, "inspect", "203.0.113.7", "--redis", "embedded", "--quiet")
	if code != exitcode.OK || out == "" || errOut != "" {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}
