package breaking_test

import (
	"fmt"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/breaking"
)

// A service that was compiled against the old version still sends 500, which the new version refuses.
func ExampleCompare() {
	version := func(most string) *breaking.Snapshot {
		tree, _ := codegen.Load(fstest.MapFS{
			"visits/library.lua": {Data: []byte("--- Counts visits.\n--- @library visits 1.0.0\n")},
			"visits/add.lua": {Data: []byte(`--- Counts visits.
--- @key    counter  string[visits]     visits of the page; kept for a day
--- @arg    visits   count[1..` + most + `]  visits to add
--- @result total    count              visits of the day
local function add(counter, visits)
  local total = redis.call('INCRBY', counter, visits)
  redis.call('EXPIRE', counter, 86400)
  return total
end
`)},
		}, "functions", codegen.Options{})
		return breaking.Of(tree)
	}
	for _, finding := range breaking.Compare(version("1000"), version("100")) {
		fmt.Println(finding)
	}
	// Output:
	// functions/visits/add.lua:3:13: argument visits of add has at most 100 and had at most 1000 (argument-narrower)
	// functions/visits/library.lua:2:21: visits 1.0.0 has other bytes than before: raise its version (version-same)
}
