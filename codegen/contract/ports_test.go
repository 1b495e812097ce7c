package contract_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// A port does what a script of another project does, in Lua of its own: testdata/ports has such libraries. Vet has findings in
// them that are false, and no comments silence these: they are what a better check is measured by. Running them has none.
const ports = "testdata/ports"

// A finding of these is either a fault that its project has, too, or one of the checker.
func TestPorts_keepTheirContracts(t *testing.T) {
	tree, found := source.Load(golden.Tree(t, ports), "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	for _, lib := range tree.Libraries {
		t.Run(lib.Spec.Name, func(t *testing.T) {
			r, err := contract.Run([]*contract.Library{contract.Of(lib)}, contract.Options{Calls: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				t.Errorf("%s\n%s", f, f.Paste())
			}
		})
	}
}
