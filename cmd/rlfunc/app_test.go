package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// runOutside runs a command line outside a project, and returns its exit code, standard output and standard error.
func runOutside(t *testing.T, args ...string) (exitCode, string, string) {
	t.Helper()
	var out, errOut strings.Builder
	code := runUntil(t.Context(), append([]string{"-C", t.TempDir()}, args...), strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String()
}

// TestJSON_hasAFormat runs commands with --json. Each prints an object with a top-level format.
func TestJSON_hasAFormat(t *testing.T) {
	lines := []string{
		"acl deployer", "call ratelimit.gcra subject=u1 limit=7 period=1m --redis embedded", "call ratelimit.gcra subject=u1 limit=7 period=1m --redis embedded -n 2",
		"deploy --redis embedded",
		"history --redis embedded", "init", "inspect key=a --namespace shop --redis embedded", "override list --redis embedded", "plan --redis embedded", "status --redis embedded",
		"top --once --redis embedded", "vet --explain keys",
	}
	for _, line := range lines {
		code, out, errOut := runOutside(t, append(strings.Fields(line), "--json")...)
		if code != exitOK && code != exitFindings {
			t.Errorf("rlfunc %s: exit %d: %s", line, code, errOut)
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(out))
		var object struct{ Format int }
		if err := decoder.Decode(&object); err != nil || object.Format < 1 {
			t.Errorf("rlfunc %s: format %v, %v in %s", line, object.Format, err, out)
		}
		if _, err := decoder.Token(); err != io.EOF {
			t.Errorf("rlfunc %s: more than an object", line)
		}
	}
}
