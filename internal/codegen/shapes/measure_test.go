package vet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	vet "github.com/rlfunc/rlfunc/internal/codegen/shapes"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

func TestMeasure(t *testing.T) {
	for _, folder := range []string{"hostile", "good"} {
		files, _ := filepath.Glob("../vet/testdata/corpus/" + folder + "/*.txtar")
		n, any, right := 0, 0, 0
		missed, extra, hits := map[string]int{}, map[string]int{}, map[string]int{}
		for _, file := range files {
			a, _ := txtar.ParseFile(file)
			for _, f := range a.Files {
				n++
				name := strings.TrimSuffix(f.Name, ".lua")
				text := string(f.Data)
				var want []string
				for line := range strings.Lines(text) {
					if w, ok := strings.CutPrefix(line, "-- want "); ok {
						want = strings.Fields(w)
					}
				}
				tree, found := source.Load(withClock(text, fstest.MapFS{
					"corpus/library.lua":      {Data: []byte("--- Examples.\n--- @library corpus 1.0.0\n")},
					"corpus/" + name + ".lua": {Data: []byte(text)},
				}), "functions", source.Options{})
				if len(found) == 0 {
					found = vet.Check(tree)
				}
				ok := false
				for _, d := range found {
					hits[d.Rule]++
					if slices.Contains(want, d.Rule) {
						ok = true
					} else {
						extra[d.Rule]++
						if folder == "hostile" && os.Getenv("EXTRA") != "" {
							fmt.Println("EXTRA", filepath.Base(file), d, want)
						}
					}
				}
				if len(found) > 0 {
					any++
					if folder == "good" {
						fmt.Println("GOOD", filepath.Base(file), found)
					}
				} else if folder == "hostile" {
					missed[strings.Join(want, " ")]++
					if os.Getenv("MISSED") != "" && slices.Contains(want, os.Getenv("MISSED")) {
						fmt.Println("MISSED", filepath.Base(file), name, want)
					}
				}
				if ok {
					right++
				}
			}
		}
		fmt.Println(folder, n, "any", any, "right", right)
		if folder == "hostile" {
			fmt.Println("missed", missed)
			fmt.Println("hits", hits)
			fmt.Println("extra", extra)
		}
	}
}

func TestTrees(t *testing.T) {
	for _, dir := range []string{"../../../functions", "../../../examples/templates/functions", "../../contract/testdata/ports/functions", "../conformance/functions", "../clients/testdata/functions"} {
		tree, found := source.Load(os.DirFS(dir), "functions", source.Options{})
		if len(found) > 0 {
			t.Errorf("%s: %v", dir, found)
		}
		report := vet.Examine(tree)
		fmt.Println(dir, len(report.Found))
		for _, d := range report.Found {
			fmt.Println("   ", d)
		}
	}
}
