package spec_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A program in another language reads the JSON form; this one lists what a function takes.
func ExampleLibrary() {
	described := `{
		"format": 1, "name": "quota", "version": "1.0.0", "server": "quota_v1",
		"functions": [{
			"name": "take", "server": "quota_v1_take", "summary": "Takes one of the quota.",
			"params": [
				{"name": "bucket", "kind": "key", "doc": "the subject's bucket"},
				{"name": "limit", "kind": "count", "doc": "most calls in a period"},
				{"name": "period", "kind": "duration", "doc": "length of a period"}
			]
		}]
	}`
	var lib spec.Library
	if err := json.Unmarshal([]byte(described), &lib); err != nil {
		log.Fatal(err)
	}
	if lib.Format != spec.Format {
		log.Fatalf("%s has format %d, want %d", lib.Name, lib.Format, spec.Format)
	}
	for _, f := range lib.Functions {
		fmt.Println(f.Server)
		for _, p := range f.Params {
			fmt.Printf("  %s %s\n", p.Name, p.Kind)
		}
	}
	// Output:
	// quota_v1_take
	//   bucket key
	//   limit count
	//   period duration
}
