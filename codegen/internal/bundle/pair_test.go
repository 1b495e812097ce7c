package bundle_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/embedded"
)

// Small results and two numbers are one number where both are thousands, and all fits.
func TestWrite_twoNumbersInOne(t *testing.T) {
	const head = `--- Looks.
--- @key k string[b] c
--- @result allowed bool a
--- @result left count[0..1000000] b
--- @result reset duration c
--- @result wait duration d
local function look(k)
  return `
	for _, s := range []struct {
		name, results string
		want          any
	}{
		{"thousands", "false, 4, 60000000, 36000000", int64(-1 - 2*4 - 60_000<<6 - 36_000<<29)},
		{"the greatest", "true, 31, 8388607000, 8388607000", int64(-1 - 63 - (1<<23-1)<<6 - (1<<23-1)<<29)},
		{"greater digits", "false, 32, 60000000, 36000000", []any{int64(64), int64(60000000), int64(36000000)}},
		{"a greater first", "false, 4, 8388608000, 36000000", []any{int64(8), int64(8388608000), int64(36000000)}},
		{"a greater second", "false, 4, 60000000, 8388608000", []any{int64(8), int64(60000000), int64(8388608000)}},
		{"a first without thousands", "false, 4, 60000001, 36000000", []any{int64(8), int64(60000001), int64(36000000)}},
		{"a second without thousands", "false, 4, 60000000, 36000001", []any{int64(8), int64(60000000), int64(36000001)}},
		{"no second", "true, 4, 60000000, 0", int64(9 + 2*1000001*60000000)},
	} {
		tree, found := source.Load(fstest.MapFS{
			"demo/library.lua": {Data: []byte("--- Looks.\n--- @library demo 1.0.0\n")},
			"demo/look.lua":    {Data: []byte(head + s.results + "\nend\n")},
		}, "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found)
		}
		server := embedded.New(embedded.Options{})
		defer server.Close()
		rdb := server.Client()
		defer rdb.Close()
		if err := rdb.FunctionLoad(t.Context(), bundle.Write(tree.Libraries[0]).Code).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := rdb.FCall(t.Context(), "demo_v1_look", []string{"ns:{u}:b"}).Result()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", s.name, diff)
		}
	}
}
