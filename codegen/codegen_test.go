package codegen_test

import (
	"path"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

func tree(library string, files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{library + "/library.lua": {Data: []byte("--- Examples.\n--- @library " + library + " 1.0.0\n")}}
	for name, text := range files {
		fsys[path.Join(library, name)] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// Findings in a header hide no findings in the code: other files report all of theirs, its own file those that need no header.
func TestLoad_reportsHeadersAndCode(t *testing.T) {
	_, found := codegen.Load(tree("x", map[string]string{
		"f.lua": "--- Counts.\n--- @key counter string[f] the counter\n--- @arg limit number[1..] the most\n--- @result count count calls\nlocal function f(counter, limit)\n  total = 1\n  return math.random(limit)\nend\n",
		"g.lua": "--- Counts.\n--- @key    counter string[g] the counter\n--- @result count   count     calls\nlocal function g(counter)\n  return redis.call('INCR', counter, 1)\nend\n",
	}), "functions", source.Options{})
	var got []string
	for _, d := range found {
		got = append(got, d.File+" "+d.Rule)
	}
	want := []string{"functions/x/f.lua unknown-type", "functions/x/f.lua global-write", "functions/x/f.lua random", "functions/x/g.lua command-form"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("findings (-want +got):\n%s%v", d, found)
	}
}

// Headers with a contract that can be read hide nothing.
func TestLoad_reportsTheCodeBelowAHeaderThatCanBeRead(t *testing.T) {
	_, found := codegen.Load(tree("x", map[string]string{
		"../lib/shared.lua": "--- Shared.\n--- @lib shared\nlocal shared = {}\nfunction shared.one()\n  return 1\nend\nreturn shared\n",
		"f.lua":             "--- Counts.\n--- @use    shared other\n--- @key    counter string[f] the counter\n--- @result count   count     calls\nlocal function f(counter)\n  return redis.call('INCR', counter, 1)\nend\n",
		"g.lua":             "--- Counts.\n--- @flags  no-write\n--- @key    counter string[g] the counter\n--- @result count   count     calls\nlocal function g(counter)\n  return redis.call('INCR', counter, 1)\nend\n",
	}), "functions", source.Options{})
	var got []string
	for _, d := range found {
		got = append(got, d.File+" "+d.Rule)
	}
	want := []string{
		"functions/x/f.lua use", "functions/x/f.lua use", "functions/x/f.lua command-form", "functions/x/g.lua flags", "functions/x/g.lua command-form",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("findings (-want +got):\n%s%v", d, found)
	}
}

// A name that no Go package can have is one finding, not the text of a file that does not parse.
func TestLoad_refusesNamesThatGoKeeps(t *testing.T) {
	const f = "--- Counts.\n--- @key    counter string[f] the counter\n--- @flags  no-writes\n--- @result count   count     calls\nlocal function f(counter)\n  return redis.call('STRLEN', counter)\nend\n"
	for _, name := range []string{"type", "func", "go", "main", "internal"} {
		_, found := codegen.Load(tree(name, map[string]string{"f.lua": f}), "functions", source.Options{})
		if len(found) != 1 || found[0].Rule != "name" || found[0].Line != 2 {
			t.Errorf("library %s: %v", name, found)
		}
	}
	for _, name := range []string{"string", "error", "time", "fcall", "context"} {
		if _, found := codegen.Load(tree(name, map[string]string{"f.lua": f}), "functions", source.Options{}); len(found) > 0 {
			t.Errorf("library %s: %v", name, found)
		}
	}
}
