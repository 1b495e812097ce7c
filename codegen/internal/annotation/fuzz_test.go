package annotation_test

import (
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// FuzzHeaders holds that no text of a library's, a lib's or a function's file makes the parser panic or point outside of
// the file, that the same text gives the same contract and findings, and that a contract comes with a function that has
// its parameters.
func FuzzHeaders(f *testing.F) {
	for _, c := range golden.Cases(f, ".") {
		text := map[string]string{}
		for _, file := range c.Files {
			text[filepath.Base(filepath.Dir(file.Name))+"/"+filepath.Base(file.Name)] = string(file.Data)
		}
		f.Add(text["x/library.lua"], text["lib/clock.lua"], text["x/f.lua"])
	}
	f.Add("--- Examples.\n--- @library x 1.0.0\n", "--- Shared.\n--- @lib shared\nlocal shared = {}\nreturn shared\n",
		"--- Looks.\n--- @use shared\n--- @key a string[b] c\n--- @arg d group[1..3] e\n--- @arg d.f duration[1us..2d]=3ms? g\n--- @result h enum(i,j) k\nlocal function f(a, d)\n  return 'i'\nend\n")
	f.Add("--- Examples.\n--- @library x 1.0.0\n",
		"--- Rows.\n--- @lib shared\n--- @arg n text[8] a\n--- @key k list[l:<n>] b\n--- @result r bool c\nlocal shared = {}\nfunction shared.prepare(row)\nend\nreturn shared\n",
		"--- Looks.\n--- @key a string[b] c\n--- @arg d group(shared)[1..3] e\n--- @arg f group[0..2] g\n--- @arg f.i count? j\n--- @result h group(shared) k\nlocal function f(a, d, d_k, f)\n  return d\nend\n")
	f.Fuzz(func(t *testing.T, library, lib, function string) {
		fsys := fstest.MapFS{
			"lib/shared.lua": {Data: []byte(lib)},
			"x/library.lua":  {Data: []byte(library)},
			"x/f.lua":        {Data: []byte(function)},
		}
		tree, found := source.Load(fsys, "functions", source.Options{})
		again, foundAgain := source.Load(fsys, "functions", source.Options{})
		if d := cmp.Diff(found, foundAgain); d != "" {
			t.Errorf("two runs differ (-first +second):\n%s", d)
		}
		for _, d := range found {
			if problem := golden.Outside(fsys, d); problem != "" {
				t.Errorf("%v: %s", d, problem)
			}
		}
		if len(found) > 0 {
			return
		}
		for i, l := range tree.Libraries {
			if d := cmp.Diff(l.Spec, again.Libraries[i].Spec); d != "" {
				t.Errorf("two contracts differ (-first +second):\n%s", d)
			}
			for _, fn := range l.Spec.Functions {
				if fn.Name == "" || len(fn.Results) == 0 {
					t.Errorf("accepted a function without a name or a result: %+v", fn)
				}
			}
		}
	})
}
