package codegen_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen"
)

// A library is a folder with its name and version, and one file for each function.
func Example() {
	files := fstest.MapFS{
		"visits/library.lua": {Data: []byte("--- Counts visits.\n--- @library visits 1.0.0\n")},
		"visits/add.lua": {Data: []byte(`--- Counts one visit.
--- @key    counter  string[visits]  visits of the page; kept for a day
--- @result visits   count           visits of the day
local function add(counter)
  local visits = redis.call('INCR', counter)
  if visits == 1 then
    redis.call('EXPIRE', counter, 86400)
  end
  return visits
end
`)},
	}
	tree, found := codegen.Load(files, "functions", codegen.Options{})
	if err := found.Err(); err != nil {
		fmt.Println(err)
		return
	}
	generated, err := codegen.Generate(tree)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		fmt.Println(name)
	}
	first, _, _ := strings.Cut(codegen.Bundle(tree.Libraries[0]), "\n")
	fmt.Println(first)
	// Output:
	// visits/README.md
	// visits/add_gen.go
	// visits/library.go
	// visits/visits.lua
	// #!lua name=visits_v1
}
