package vet_test

import (
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

// FuzzCheck holds that no text of a function file makes the pipeline panic, hang or point outside of the file, and that
// the same text gives the same findings.
func FuzzCheck(f *testing.F) {
	for _, rule := range vet.Rules {
		f.Add(rule.Bad)
		f.Add(rule.Good)
	}
	for _, dir := range []string{".", "../annotation"} {
		for _, c := range golden.Cases(f, dir) {
			for _, file := range c.Files {
				if file.Name == "functions/x/f.lua" {
					f.Add(string(file.Data))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := exampleName(text)
		if name == "" || !filepath.IsLocal(name) || filepath.Base(name) != name {
			name = "f"
		}
		fsys := fstest.MapFS{
			"lib/clock.lua":      {Data: []byte(clockFile)},
			"x/library.lua":      {Data: []byte("--- Examples.\n--- @library x 1.0.0\n")},
			"x/" + name + ".lua": {Data: []byte(text)},
			"y/library.lua":      {Data: []byte("--- Examples.\n--- @library y 1.0.0\n")},
			"y/y.lua":            {Data: []byte("--- Looks.\n--- @use clock shared\n--- @key a string[b] c\n--- @result d count e\nlocal function y(a)\n  return clock.now_us() + shared.f(a)\nend\n")},
			"lib/shared.lua":     {Data: []byte("--- Shared.\n--- @lib shared\nlocal shared = {}\n" + text + "\nreturn shared\n")},
		}
		var all [2]diag.List
		for i := range all {
			tree, found := source.Load(fsys, "functions", source.Options{})
			all[i] = append(found, vet.Check(tree)...) // also on a tree with findings: it must not panic
			all[i].Sort()
		}
		for _, d := range all[0] {
			if problem := golden.Outside(fsys, d); problem != "" {
				t.Errorf("%v: %s", d, problem)
			}
		}
		if all[0].Error() != all[1].Error() {
			t.Errorf("two runs differ:\n%v\n---\n%v", all[0], all[1])
		}
	})
}
