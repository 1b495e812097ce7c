package contract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

// Each function of testdata/hostile whose name ends in _wrong is found, by vet or by running, and no other.
func TestHostile_isFound(t *testing.T) {
	tree, found := source.Load(golden.Tree(t, "testdata/hostile"), "hostile", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	shape := map[string]string{}
	for _, d := range vet.Check(tree) {
		shape[strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(d.File, "hostile/"), ".lua"), "/", ".")] = d.String()
	}
	for _, lib := range tree.Libraries {
		for seed := range uint64(3) {
			r, err := contract.Run([]*contract.Library{contract.Of(lib)}, contract.Options{Seed: seed, Unshrunk: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, fn := range lib.Spec.Functions {
				name := lib.Spec.Name + "." + fn.Name
				var all []string
				for _, f := range r.Findings {
					if f.Function == name {
						all = append(all, f.String())
					}
				}
				if by := shape[name]; by != "" {
					all = append(all, by)
				}
				if slices.Sort(all); (len(all) > 0) != strings.HasSuffix(name, "_wrong") {
					t.Errorf("seed %d, %s: found %q", seed, name, all)
				}
			}
		}
	}
}
