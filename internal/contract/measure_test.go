package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

func TestMeasure(t *testing.T) {
	folder := os.Getenv("FOLDER")
	if folder == "" {
		t.Skip()
	}
	calls, _ := strconv.Atoi(os.Getenv("CALLS"))
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	clock, _ := os.ReadFile("../../functions/lib/clock.lua")
	files, _ := filepath.Glob(os.Getenv("CORPUS") + "/" + folder + "/*.txtar")
	only := os.Getenv("ONLY")
	n, hit, right := 0, 0, 0
	var took time.Duration
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + strings.TrimSuffix(f.Name, ".lua")
			if only != "" && !strings.Contains(name, only) {
				continue
			}
			tree, found := source.Load(fstest.MapFS{
				"corpus/library.lua": {Data: []byte("--- Examples.\n--- @library corpus 1.0.0\n")},
				"corpus/" + f.Name:   {Data: f.Data},
				"lib/clock.lua":      {Data: clock},
			}, "functions", source.Options{})
			var want []string
			for line := range strings.Lines(string(f.Data)) {
				if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "-- want "); ok {
					want = append(want, strings.Fields(rest)...)
				}
			}
			n++
			if len(found) > 0 {
				hit++
				fmt.Printf("LOAD %s %v: %.100s\n", name, want, found.Error())
				continue
			}
			began := time.Now()
			r, err := Run([]*Library{Of(tree.Libraries[0])}, Options{Calls: calls, Seed: seed, Unshrunk: only == "", Quick: os.Getenv("QUICK") != ""})
			took += time.Since(began)
			if err != nil {
				hit++
				fmt.Printf("ERR %s %v: %.100s\n", name, want, err)
				continue
			}
			if len(r.Findings) > 0 {
				hit++
			}
			var rules []string
			for _, f := range r.Findings {
				rules = append(rules, f.Rule)
			}
			if slices.ContainsFunc(want, func(w string) bool { return slices.Contains(rules, w) }) {
				right++
			}
			word := "MISS"
			if len(rules) > 0 {
				word = "HIT"
			}
			fmt.Printf("%s %s want %v got %v refused %d/%d unreached %d %dms\n", word, name, want, rules, r.Refused, r.Calls, len(r.Unreached), time.Since(began).Milliseconds())
			if only != "" || folder == "good" {
				for _, f := range r.Findings {
					fmt.Println("   ", f)
					for _, s := range f.Steps {
						fmt.Println("       ", s)
					}
				}
			}
		}
	}
	fmt.Printf("TOTAL %s: %d, hit %d, same rule %d, %v a function\n", folder, n, hit, right, took/time.Duration(max(n, 1)))
}
