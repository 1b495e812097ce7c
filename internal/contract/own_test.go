package contract

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

func TestOwn(t *testing.T) {
	root := os.Getenv("ROOT")
	if root == "" {
		t.Skip()
	}
	calls, _ := strconv.Atoi(os.Getenv("CALLS"))
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	tree, found := source.Load(os.DirFS(root), "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found)
	}
	for _, lib := range tree.Libraries {
		if o := os.Getenv("ONLY"); o != "" && o != lib.Spec.Name {
			continue
		}
		began := time.Now()
		r, err := Run([]*Library{Of(lib)}, Options{Calls: calls, Seed: seed, Quick: os.Getenv("QUICK") != ""})
		if err != nil {
			t.Fatal(err)
		}
		n := len(lib.Spec.Functions)
		fmt.Printf("%s: %d functions, %v a function, %d calls, %d refused, %d unreached %v\n", lib.Spec.Name, n, time.Since(began)/time.Duration(n), r.Calls, r.Refused, len(r.Unreached), r.Unreached[:min(len(r.Unreached), 12)])
		for _, f := range r.Findings {
			fmt.Println("   ", f)
			fmt.Println(f.Paste())
			for _, s := range f.Steps {
				_ = s
			}
		}
	}
}
