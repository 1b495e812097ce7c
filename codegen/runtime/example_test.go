package runtime_test

import (
	"fmt"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/functions"
)

// A program that loads libraries which it was not compiled with.
func ExampleLibrary() {
	tree, found := codegen.Load(functions.FS, "functions", codegen.Options{})
	if len(found) > 0 {
		fmt.Println(found.Error())
		return
	}
	for _, lib := range tree.Libraries {
		fmt.Println(runtime.Library(lib).ServerName)
	}
	// Output:
	// abuse_v1
	// challenge_v1
	// concurrency_v1
	// cost_v1
	// guard_v1
	// override_v1
	// ratelimit_v1
}
