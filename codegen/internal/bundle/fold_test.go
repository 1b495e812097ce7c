package bundle_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/embedded"
)

// One row is one number where its first number is thousands, all fits, and of the results beside it only the first is not zero.
func TestWrite_oneRowInOneNumber(t *testing.T) {
	const head = `--- Looks.
--- @key k string[b] c
--- @result allowed bool a
--- @result reason enum(none,limit) b
--- @result wait duration c
--- @result rows group d
--- @result rows.left count[0..1000000] e
--- @result rows.reset duration f
--- @result rows.wait duration g
local function look(k)
  return `
	for _, s := range []struct {
		name, results string
		want          any
	}{
		{"thousands", "true, 'none', 0, {{left = 7, reset_us = 36000, wait_us = 0}}", int64(-1 - 7 - 1000001*36)},
		{"the greatest", "true, 'none', 0, {{left = 7, reset_us = 9007190247000, wait_us = 0}}", int64(-1 - 7 - 1000001*9007190247)},
		{"a greater one", "true, 'none', 0, {{left = 7, reset_us = 9007190248000, wait_us = 0}}", []any{int64(1 + 4), int64(7), int64(9007190248000)}},
		{"no thousands", "true, 'none', 0, {{left = 7, reset_us = 36001, wait_us = 0}}", []any{int64(1 + 4), int64(7), int64(36001)}},
		{"not the first", "false, 'none', 0, {{left = 7, reset_us = 36000, wait_us = 0}}", []any{int64(4), int64(7), int64(36000)}},
		{"another beside the first", "true, 'limit', 0, {{left = 7, reset_us = 36000, wait_us = 0}}", []any{int64(1 + 2 + 4), int64(7), int64(36000)}},
		{"another number beside the row", "true, 'none', 1, {{left = 7, reset_us = 36000, wait_us = 0}}", []any{int64(1 + 4), int64(7), int64(36000), int64(0), int64(1)}},
		{"another number in the row", "true, 'none', 0, {{left = 7, reset_us = 36000, wait_us = 1}}", []any{int64(1 + 4), int64(7), int64(36000), int64(1)}},
		{"two rows", "true, 'none', 0, {{left = 7, reset_us = 1000, wait_us = 0}, {left = 8, reset_us = 0, wait_us = 0}}", []any{int64(-1), int64(7 + 1000001), int64(8)}},
		{"two rows, one without thousands", "true, 'none', 0, {{left = 7, reset_us = 1000, wait_us = 0}, {left = 8, reset_us = 2001, wait_us = 0}}", []any{int64(1 + 2*4), int64(7), int64(8), int64(1000), int64(2001)}},
		{"two rows, one with another number", "true, 'none', 0, {{left = 7, reset_us = 1000, wait_us = 1}, {left = 8, reset_us = 2000, wait_us = 0}}", []any{int64(1 + 2*4), int64(7), int64(8), int64(1000), int64(2000), int64(1)}},
		{"two rows, another number beside", "true, 'none', 9, {{left = 7, reset_us = 1000, wait_us = 0}, {left = 8, reset_us = 2000, wait_us = 0}}", []any{int64(1 + 2*4), int64(7), int64(8), int64(1000), int64(2000), int64(0), int64(0), int64(9)}},
		{"two rows, another beside the first", "true, 'limit', 0, {{left = 7, reset_us = 1000, wait_us = 0}, {left = 8, reset_us = 2000, wait_us = 0}}", []any{int64(1 + 2 + 2*4), int64(7), int64(8), int64(1000), int64(2000)}},
		{"no row", "true, 'none', 0, {}", []any{int64(1)}},
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
