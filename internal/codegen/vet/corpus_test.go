package vet_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/internal/codegen/diag"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/codegen/vet"
)

const corpusDir = "../../contract/testdata/corpus/"

// corpus calls a function with the findings of each function of a folder of the corpus, and the rules that it wants.
func corpus(t *testing.T, folder string, each func(name string, want []string, found diag.List)) {
	t.Helper()
	files, err := filepath.Glob(corpusDir + folder + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus in %s: %v", folder, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		for _, f := range archive.Files {
			var want []string
			for line := range strings.Lines(string(f.Data)) {
				if rules, ok := strings.CutPrefix(line, "-- want "); ok {
					want = strings.Fields(rules)
				}
			}
			tree, found := source.Load(withClock(string(f.Data), fstest.MapFS{
				"corpus/library.lua": {Data: []byte("--- Examples.\n--- @library corpus 1.0.0\n")},
				"corpus/" + f.Name:   {Data: f.Data},
			}), "functions", source.Options{})
			if len(found) == 0 {
				found = vet.Check(tree)
			}
			each(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+strings.TrimSuffix(f.Name, ".lua"), want, found)
		}
	}
}

// byNature are good functions that vet refuses: what cjson.decode gives is surely a string only behind a test in the same function.
var byNature = []string{"hooks/field_stored_behind_the_helper_that_tests_it"}

func TestCorpus_goodFunctionsHaveNoFindings(t *testing.T) {
	corpus(t, "good", func(name string, _ []string, found diag.List) {
		if len(found) > 0 && !slices.Contains(byNature, name) {
			t.Errorf("%s: findings:\n%v", name, found)
		}
	})
}

// TestCorpus_shapesOfHostileFunctions holds how many hostile functions vet finds without running them; luatest.Contract finds most of the others.
func TestCorpus_shapesOfHostileFunctions(t *testing.T) {
	const least = 318
	total, any, right := 0, 0, 0
	corpus(t, "hostile", func(_ string, want []string, found diag.List) {
		total++
		if len(found) > 0 {
			any++
		}
		if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return slices.Contains(want, d.Rule) }) {
			right++
		}
	})
	t.Logf("of %d hostile functions %d have findings, %d by a rule that they want", total, any, right)
	if any < least {
		t.Errorf("findings in %d hostile functions, and it was %d", any, least)
	}
}

// TestCorpus_mayCrashAServer: whatever reaches redis.call or error is surely of its type.
func TestCorpus_mayCrashAServer(t *testing.T) {
	crashing := []string{vet.RuleCallArgument, vet.RuleRaisedTable, vet.RuleLoadLog}
	corpus(t, "hostile", func(name string, want []string, found diag.List) {
		for _, rule := range want {
			if slices.Contains(crashing, rule) && !slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Rule == rule }) {
				t.Errorf("%s: no finding of %s:\n%v", name, rule, found)
			}
		}
	})
}
