package vet_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

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

// newest returns the newest servers here: Redis, then Valkey.
func newest(t *testing.T) []engines.Engine {
	t.Helper()
	var found []engines.Engine
	for _, e := range engines.Real(t) {
		if e.Name == "redis-8" || e.Name == "valkey-9" {
			found = append(found, e)
		}
	}
	if len(found) < 2 {
		t.Skip("SKIPPED: no redis-8, or no valkey-9")
	}
	slices.SortFunc(found, func(a, b engines.Engine) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// TestNewerCommands_areThoseOfTheServers holds that the table has what the newest servers here have. It also has commands of other servers.
func TestNewerCommands_areThoseOfTheServers(t *testing.T) {
	old := sinceOf(t, oldest(t))
	newer := map[string][]string{}
	for _, e := range newest(t) {
		product, _, _ := strings.Cut(e.Version, " ")
		for name, since := range sinceOf(t, e) {
			if _, known := old[name]; !known {
				newer[name] = append(newer[name], product+" "+since)
			}
		}
	}
	table, err := os.ReadFile(newerFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(table)) {
		name, since, _ := strings.Cut(line, " ")
		rows[name] = since
	}
	for name, since := range newer {
		for _, first := range since {
			if !strings.Contains(rows[name], first) {
				t.Errorf("%s: %s is in %s, and the table says %q", newerFile, name, first, rows[name])
			}
		}
	}
}
