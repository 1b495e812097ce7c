package contract

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

// one makes a library of one function.
func one(t *testing.T, text string) *Library {
	t.Helper()
	clock, err := os.ReadFile("../../functions/lib/clock.lua")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"demo/library.lua": {Data: []byte("--- Examples.\n--- @library demo 1.0.0\n")},
		"demo/look.lua":    {Data: []byte(text)},
	}
	if strings.Contains(text, "@use ") {
		files["lib/clock.lua"] = &fstest.MapFile{Data: clock}
	}
	tree, found := source.Load(files, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found)
	}
	return Of(tree.Libraries[0])
}

func TestRules_examples(t *testing.T) {
	for _, r := range vet.RunRules {
		rule, bad, good := r.ID, r.Bad, r.Good
		t.Run(rule, func(t *testing.T) {
			for seed := range uint64(5) {
				r, err := Run([]*Library{one(t, bad)}, Options{Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == rule }) {
					t.Errorf("seed %d: the bad example has no such finding, but %v", seed, r.Findings)
				}
				for _, f := range r.Findings {
					if f.Rule != rule {
						t.Errorf("seed %d: the bad example also has %v", seed, f)
					}
				}
				if r, err = Run([]*Library{one(t, good)}, Options{Seed: seed}); err != nil || len(r.Findings) > 0 {
					t.Errorf("seed %d: the good example has %v, %v", seed, r.Findings, err)
				}
			}
		})
	}
}
