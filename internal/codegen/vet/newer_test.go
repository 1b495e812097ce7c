package vet_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/internal/engines"
)

const newerFile = "newer_commands.txt"

// sinceOf returns the commands of a server with their first versions, by COMMAND DOCS. Those of modules, which have a dot
// or no version, are left out.
func sinceOf(t *testing.T, e engines.Engine) map[string]string {
	t.Helper()
	docs, err := e.Connect(t, func(o *redis.Options) { o.Protocol = 2 }).Do(t.Context(), "COMMAND", "DOCS").Slice()
	if err != nil {
		t.Fatalf("command docs of %s: %v", e.Name, err)
	}
	out := map[string]string{}
	for i := 0; i+1 < len(docs); i += 2 {
		name := strings.ToUpper(fmt.Sprint(docs[i]))
		since, _ := pairs(docs[i+1])["since"].(string)
		if since != "" && !strings.Contains(name, ".") {
			out[name] = strings.TrimSuffix(since, ".0")
		}
	}
	return out
}

// TestNewerCommands_areThoseOfTheServers compares the table with the newest servers here.
func TestNewerCommands_areThoseOfTheServers(t *testing.T) {
	old := sinceOf(t, oldest(t))
	newer, found := map[string][]string{}, 0
	for _, e := range engines.Real(t) {
		server, ok := map[string]string{"redis-8": "Redis", "valkey-9": "Valkey"}[e.Name]
		if !ok {
			continue
		}
		found++
		for name, since := range sinceOf(t, e) {
			if _, known := old[name]; !known {
				newer[name] = append(newer[name], server+" "+since)
			}
		}
	}
	if found < 2 {
		t.Skip("no redis-8, or no valkey-9")
	}
	var lines []string
	for name, since := range newer {
		slices.Sort(since)
		lines = append(lines, name+" "+strings.Join(since, " and "))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *golden.Update {
		if err := os.WriteFile(newerFile, []byte(got), 0o644); err != nil {
			t.Fatalf("write: %v", err)
		}
		return
	}
	want, err := os.ReadFile(newerFile)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs from the servers; run go test -update (-want +got):\n%s", newerFile, d)
	}
}
