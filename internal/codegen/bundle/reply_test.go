package bundle_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/codegen/bundle"
	"github.com/rlfunc/rlfunc/internal/codegen/runtime"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

// More small results than one number holds: those beyond travel by themselves, at the top level and in rows.
func TestWrite_smallResultsThatOneNumberDoesNotHold(t *testing.T) {
	const bools = 40
	header, row, values := "", "", ""
	for i := range bools {
		header += fmt.Sprintf("--- @result b%d bool a\n", i)
		values += fmt.Sprintf("%t, ", i%3 == 0)
		row += fmt.Sprintf("b%d = %t, ", i, i%3 == 0)
	}
	for _, grouped := range []bool{false, true} {
		text := "--- Looks.\n--- @key k string[b] c\n" + header + "--- @result last enum(x,y,z) e\n"
		body := "return " + values + "'y'"
		if grouped {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "@result b", "@result rows.b"), "@result last", "@result rows.last")
			text = strings.Replace(text, "--- @result rows.b0", "--- @result rows group r\n--- @result rows.b0", 1)
			body = "return {{" + row + "last = 'z'}, {" + row + "last = 'y'}}"
		}
		tree, found := source.Load(fstest.MapFS{
			"demo/library.lua": {Data: []byte("--- Looks.\n--- @library demo 1.0.0\n")},
			"demo/look.lua":    {Data: []byte(text + "local function look(k)\n  " + body + "\nend\n")},
		}, "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found)
		}
		lib := tree.Libraries[0]
		server := embedded.New(embedded.Options{})
		defer server.Close()
		rdb := server.Client()
		defer rdb.Close()
		if err := rdb.FunctionLoad(t.Context(), bundle.Write(lib).Code).Err(); err != nil {
			t.Fatal(err)
		}
		rows := 1
		if grouped {
			rows = 2
		}
		of := &fcall.Library{Name: "demo", Version: "1.0.0", ServerName: "demo_v1"}
		c, err := fcall.NewClient(rdb, of, fcall.Options{NoAutoLoad: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Call(t.Context(), runtime.Function(of, &lib.Spec.Functions[0]), []string{"ns:{u}:b"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if grouped && r.Rows("rows") != rows {
			t.Error("not all rows came")
		}
		for n := range rows {
			r.Row(n)
			for i := range bools {
				if got := r.Bool(fmt.Sprint("b", i)); got != (i%3 == 0) {
					t.Errorf("grouped %t: row %d, b%d is %t", grouped, n, i, got)
				}
			}
			want := "y"
			if grouped && n == 0 {
				want = "z"
			}
			if got := r.Enum("last", "x", "y", "z"); got != want {
				t.Errorf("grouped %t: row %d ends in %q, want %q", grouped, n, got, want)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An argument may have the name of its function.
func TestWrite_anArgumentNamedLikeItsFunction(t *testing.T) {
	tree, found := source.Load(fstest.MapFS{
		"demo/library.lua": {Data: []byte("--- Looks.\n--- @library demo 1.0.0\n")},
		"demo/order.lua": {Data: []byte("--- Orders.\n--- @key stock string[stock] what is left\n--- @arg order int[1..9] how many\n" +
			"--- @result ordered int[1..9] how many\nlocal function order(stock, order)\n  return order\nend\n")},
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
	got, err := rdb.FCall(t.Context(), "demo_v1_order", []string{"ns:{u}:stock"}, 3).Result()
	if diff := cmp.Diff(any([]any{int64(0), "3"}), got); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
