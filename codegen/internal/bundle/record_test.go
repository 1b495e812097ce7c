package bundle_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/embedded"
)

// A reply is one number where the results allow it, and otherwise a list of records.
func TestWrite_replies(t *testing.T) {
	const plain = `--- Looks.
--- @key k string[b] c
--- @result allowed bool a
--- @result left count[0..1000000] b
--- @result reset duration c
--- @result wait duration d
local function look(k)
  return `
	const wide = `--- Looks.
--- @key k string[b] c
--- @result left count[0..1000000000000] b
--- @result allowed bool a
--- @result reset duration c
local function look(k)
  return `
	const grouped = `--- Looks.
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
		name, head, results string
		want                any
	}{
		{"small ones alone", plain, "true, 4, 0, 0", int64(9)},
		{"one number", plain, "true, 4, 60000001, 0", int64(9 + 2*1000001*60000001)},
		{"one number of thousands", plain, "true, 4, 86400000000, 0", int64(-2 - 4*(9+2*1000001*86400000))},
		{"a greater one", plain, "true, 4, 86400000001, 0", []any{int64(-1 - 4*9), int64(86400000001)}},
		{"two numbers", plain, "false, 4, 60000000, 36000000", int64(-3 - 4*2*4 - 60_000<<7 - 36_000<<30)},
		{"the second alone", plain, "false, 0, 0, 36000000", int64(-3 - 36_000<<30)},
		{"the greatest two", plain, "true, 15, 8388607000, 8388607000", int64(-3 - 4*31 - (1<<23-1)<<7 - (1<<23-1)<<30)},
		{"two and greater small ones", plain, "false, 16, 60000000, 36000000", []any{int64(-1 - 4*32), int64(60000000), int64(36000000)}},
		{"a greater first", plain, "false, 4, 8388608000, 36000000", []any{int64(-1 - 4*8), int64(8388608000), int64(36000000)}},
		{"a greater second", plain, "false, 4, 60000000, 8388608000", []any{int64(-1 - 4*8), int64(60000000), int64(8388608000)}},
		{"a first without thousands", plain, "false, 4, 60000001, 36000000", []any{int64(-1 - 4*8), int64(60000001), int64(36000000)}},
		{"a second without thousands", plain, "false, 4, 60000000, 36000001", []any{int64(-1 - 4*8), int64(60000000), int64(36000001)}},

		{"a wide count", wide, "1048575, true, 0", int64(1 + 2*1048575)},
		{"a wide count and another number", wide, "7, true, 60000001", int64(1 + 2*7 + 2<<20*60000001)},
		{"a wide count and thousands", wide, "7, true, 86400000000", int64(-2 - 4*(1+2*7+2<<20*86400000))},
		{"a wide count by itself", wide, "1048576, true, 0", []any{int64(-5), int64(1048576)}},
		{"a wide count and another by themselves", wide, "1000000000000, false, 5", []any{int64(-1), int64(1000000000000), int64(5)}},

		{"one row", grouped, "true, 'none', 0, {{left = 7, reset_us = 36000, wait_us = 0}}", int64(-2 - 4*(7+1000001*36))},
		{"one row, no thousands", grouped, "true, 'none', 0, {{left = 7, reset_us = 36001, wait_us = 0}}", []any{int64(1 + 4), int64(7 + 1000001*36001)}},
		{"one row, two numbers", grouped, "true, 'none', 0, {{left = 7, reset_us = 36000, wait_us = 1000}}", []any{int64(1 + 4), int64(-3 - 4*7 - 36<<7 - 1<<30)}},
		{"one row by itself", grouped, "true, 'none', 0, {{left = 7, reset_us = 36000, wait_us = 1}}", []any{int64(1 + 4), int64(-1 - 4*7), int64(36000), int64(1)}},
		{"one row of zeros", grouped, "false, 'none', 0, {{left = 0, reset_us = 0, wait_us = 0}}", int64(4)},
		{"one row, not the first", grouped, "false, 'none', 0, {{left = 7, reset_us = 36000, wait_us = 0}}", []any{int64(4), int64(7 + 1000001*36000)}},
		{"one row, another beside the first", grouped, "true, 'limit', 0, {{left = 7, reset_us = 36000, wait_us = 0}}", []any{int64(1 + 2 + 4), int64(7 + 1000001*36000)}},
		{"one row, another number", grouped, "true, 'none', 9, {{left = 7, reset_us = 36000, wait_us = 0}}", []any{int64(-1 - 4*1), int64(1), int64(9), int64(7 + 1000001*36000)}},
		{"two rows", grouped, "true, 'none', 0, {{left = 7, reset_us = 1000, wait_us = 0}, {left = 8, reset_us = 86400000000, wait_us = 0}}", []any{int64(1 + 2*4), int64(7 + 1000001*1000), int64(-2 - 4*(8+1000001*86400000))}},
		{"no row", grouped, "true, 'none', 0, {}", int64(1)},
	} {
		tree, found := source.Load(fstest.MapFS{
			"demo/library.lua": {Data: []byte("--- Looks.\n--- @library demo 1.0.0\n")},
			"demo/look.lua":    {Data: []byte(s.head + s.results + "\nend\n")},
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
