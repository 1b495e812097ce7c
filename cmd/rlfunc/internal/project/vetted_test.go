package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A clean tree is vetted once. A change of the source is vetted, and findings are not cached.
func TestLoad_cachesCleanTrees(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("LocalAppData", cache)
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("rlfunc.yaml", "")
	write("functions/hits/library.lua", "--- Hits.\n--- @library hits 1.0.0\n")
	write("functions/hits/count.lua", counting("redis.call('SET', bucket, 1, 'PX', 1000)"))
	entries := func() (names []string) {
		all, err := filepath.Glob(filepath.Join(cache, "rlfunc", "vet", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	load := func() ([]string, error) {
		tree, err := (&Project{Dir: dir, Config: Config{Functions: "functions", Gen: "gen"}}).Load(t.Context())
		if err != nil {
			return nil, err
		}
		return tree.Libraries[0].Spec.Functions[0].Command, nil
	}
	first, err := load()
	if err != nil || len(entries()) != 1 || !slices.Contains(first, "SET") {
		t.Fatal(first, err, entries())
	}
	// The second answer comes from the cache: a mark in it is returned.
	if err := os.WriteFile(entries()[0], []byte(`{"hits.count":["MARK"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := load(); err != nil || !slices.Equal(again, []string{"MARK"}) {
		t.Error(again, err)
	}
	if err := os.WriteFile(entries()[0], []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := load(); err != nil || !slices.Equal(again, first) {
		t.Error("a damaged entry:", again, err)
	}
	write("functions/hits/count.lua", counting("redis.call('SET', bucket)"))
	for range 2 {
		if _, err := load(); err == nil || len(entries()) != 1 {
			t.Error("a command without its value passed", err, entries())
		}
	}
}

func counting(write string) string {
	return "--- Counts.\n--- @key    bucket string[hits] the count\n--- @state  hits 1 the count\n--- @result found bool whether it counted\nlocal function count(bucket)\n  " + write + "\n  return true\nend\n"
}
