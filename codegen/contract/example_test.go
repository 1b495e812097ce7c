package contract_test

import (
	"fmt"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/contract"
)

// The key of a function that forgets the expiry stays in Redis for ever. Running it shows that, without a test of the author's.
func ExampleRun() {
	tree, _ := codegen.Load(fstest.MapFS{
		"visits/library.lua": {Data: []byte("--- Counts visits.\n--- @library visits 1.0.0\n")},
		"visits/add.lua": {Data: []byte(`--- Counts one visit.
--- @key    counter  string[visits]  visits of the page
--- @result visits   count           visits until now
local function add(counter)
  return redis.call('INCR', counter)
end
`)},
	}, "functions", codegen.Options{})
	report, err := contract.Run([]*contract.Library{contract.Of(tree.Libraries[0])}, contract.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Printf("%s:%d: %s (%s)\n", f.File, f.Line, f.Text, f.Rule)
	}
	// Output:
	// functions/visits/add.lua:5: leaves rl:{u}:visits without an expiry (missing-ttl)
}
