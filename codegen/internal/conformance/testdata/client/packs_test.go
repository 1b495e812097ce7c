package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// The keys of a row are those of its own subject where the call gives one.
func TestPacks_rowsOfSeveralSubjects(t *testing.T) {
	items := everything.PackItem(
		everything.Item{Name: "a", Kind: everything.ItemKindSum, Window: time.Second},
		everything.Item{Name: "b", Kind: everything.ItemKindSum, Window: time.Second},
		everything.Item{Name: "c", Kind: everything.ItemKindLast, Window: time.Second},
	)
	params := everything.PacksParams{
		Subject: "user42", Items: items.For("203.0.113.7", "203.0.113.7", "any one"),
		PairsOf: everything.PackPacksPairsOf(everything.PacksPairsOf{Left: "x"}),
	}
	tag := fcall.Tag("any one")
	want := []string{
		"ns:{203.0.113.7}:sum:a", "ns:{203.0.113.7}:seen:a", "ns:{203.0.113.7}:sum:b", "ns:{203.0.113.7}:seen:b",
		"ns:{" + tag + "}:last:c", "ns:{" + tag + "}:seen:c",
	}
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		result, err := c.Packs(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range result.Items {
			got = append(got, row.State, row.Seen)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Several groups stand in one call, and a key of the wrong type is named as itself.
func TestMixed_keysAreThoseOfTheirRows(t *testing.T) {
	item := func(names ...string) fcall.Rows[everything.Item] {
		var rows []everything.Item
		for _, name := range names {
			rows = append(rows, everything.Item{Name: name, Kind: "last", Window: 1000})
		}
		return everything.PackItem(
			rows...)
	}
	last := everything.PackMixedLast(everything.MixedLast{N: new(int64(0))}, everything.MixedLast{})
	tests := []struct {
		name   string
		params everything.MixedParams
		want   everything.MixedResult
	}{
		{
			"all",
			everything.MixedParams{
				Subject: "u", First: item("a", "b").For("x", "y"), Plain: everything.PackMixedPlain(everything.MixedPlain{Name: "p", Of: "z"}, everything.MixedPlain{Name: "q"}),
				Second: item("a", "c"), Last: last, After: 1000,
			},
			everything.MixedResult{Keys: []everything.MixedKeysResult{
				{Name: "ns:{u}:state"},
				{Name: "ns:{x}:last:a"},
				{Name: "ns:{x}:seen:a"},
				{Name: "ns:{y}:last:b"},
				{Name: "ns:{y}:seen:b"},
				{Name: "ns:{z}:list:p"},
				{Name: "ns:{u}:list:q"},
				{Name: "ns:{u}:last:a"},
				{Name: "ns:{u}:seen:a"},
				{Name: "ns:{u}:last:c"},
				{Name: "ns:{u}:seen:c"},
			}, Sum: 1010},
		},
		{
			"least",
			everything.MixedParams{Subject: "u", Second: item("a").For("x")},
			everything.MixedResult{Keys: []everything.MixedKeysResult{{Name: "ns:{u}:state"}, {Name: "ns:{x}:last:a"}, {Name: "ns:{x}:seen:a"}}},
		},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for _, test := range tests {
			got, err := c.Mixed(t.Context(), test.params)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
		// The keys of b are those of its own subject.
		if err := rdb.RPush(t.Context(), "ns:{y}:seen:b", "x").Err(); err != nil {
			t.Fatal(err)
		}
		_, err := c.Mixed(t.Context(), everything.MixedParams{Subject: "u", First: item("b"), Second: item("a", "b").For("x", "y")})
		var state *fcall.StateError
		if !errors.As(err, &state) || state.Key != "ns:{y}:seen:b" || state.Problem != "holds a list, not a zset" {
			t.Errorf("a list in place of a zset: got %v (%+v)", err, state)
		}
	})
}

var utc = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })

const goodRow = "a,sum,1000,,,,1,;"

// callPacks sends items as they are, with keys of as many rows.
func callPacks(t *testing.T, rdb redis.Cmdable, items string, rows int) *redis.Cmd {
	keys := []string{"ns:{u}:state"}
	for i := range rows {
		keys = append(keys, fmt.Sprintf("ns:{u}:sum:%d", i), fmt.Sprintf("ns:{u}:seen:%d", i))
	}
	return rdb.FCall(t.Context(), "everything_v2_packs", keys, "0", items, "", "x,1;", "")
}

func TestPacks_refusesWhatIsNoPack(t *testing.T) {
	tests := []struct{ name, items, want string }{
		{"no end", "a,sum,1000,,,,1,", "items.0 must end in ; after at most 353 bytes"},
		{"no end of the second row", goodRow + "b", "items.1 must end in ; after at most 353 bytes"},
		{"1 MiB", strings.Repeat("a", 1<<20), "items.0 must end in ; after at most 353 bytes"},
		{"1 MiB of rows", strings.Repeat(goodRow, 60_000), "items.1.name must differ from that of another row of its kind"},
		{"1 MiB of empty rows", strings.Repeat(";", 1<<20), "items.0 must have 8 to 10 cells, and has 0"},
		{"1 MiB of cells", strings.Repeat(",", 1<<20) + ";", "items.0 must end in ; after at most 353 bytes"},
		{"too many rows", "a,sum,1,,,,1,;b,sum,1,,,,1,;c,sum,1,,,,1,;d,sum,1,,,,1,;e,sum,1,,,,1,;", "items must have 0 to 4 rows"},
		{"a cell less", "a,sum,1000,,,,1;", "items.0 must have 8 to 10 cells, and has 7"},
		{"a cell more", "a,sum,1000,,,,1,,,,;", "items.0 must have 8 to 10 cells, and has 11"},
		{"of another shape", goodRow + "sum,a,1000,,,,1,;", "items.1.kind must be one of sum, last"},
		{"NUL", "a\x00,sum,1000,,,,1,;", "items.0.name must be 1 to 32 bytes"},
		{"a blank", "a b,sum,1000,,,,1,;", "items.0.name must be 1 to 32 bytes"},
		{"upper case digits", "a%2F,sum,1000,,,,1,;", "items.0.name must be 1 to 32 bytes"},
		{"half a byte", "a%2,sum,1000,,,,1,;", "items.0.name must be 1 to 32 bytes"},
		{"no digits", "a%,sum,1000,,,,1,;", "items.0.name must be 1 to 32 bytes"},
		{"empty name", ",sum,1000,,,,1,;", "items.0.name must be 1 to 32 bytes"},
		{"no number", "a,sum,,,,,1,;", "items.0.window must be from 1 to 86400000000 microseconds"},
		{"an escaped digit", "a,sum,%31,,,,1,;", "items.0.window must be from 1 to 86400000000 microseconds"},
		{"prepare refuses", goodRow + "b,last,1000,2,,,1,;", "items.1.cost must be 0 or 1 in a last item"},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for range 2 { // what is refused once is not kept
			for _, test := range tests {
				err := callPacks(t, rdb, test.items, 4).Err()
				if want := "RLARG " + test.want; err == nil || err.Error() != want {
					t.Errorf("%s: got %v, want %s", test.name, err, want)
				}
			}
		}
		for name, rows := range map[string]int{"a key less": 1, "a key more": 3} {
			if err := callPacks(t, rdb, goodRow+"b,sum,1,,,,1,;", rows).Err(); err == nil || !strings.HasPrefix(err.Error(), "RLARG packs must be called with") {
				t.Errorf("%s: got %v, want RLARG", name, err)
			}
		}
		err := rdb.FCall(t.Context(), "everything_v2_packs", []string{"ns:{u}:state", "ns:{}:sum:a", "ns:{}:seen:a"}, "0", goodRow, "", "x,1;", "").Err()
		if err == nil || err.Error() != "RLARG items.0.of must not be empty" {
			t.Errorf("a row with an empty subject: got %v, want RLARG", err)
		}
		if n := rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
		for _, items := range []string{"", goodRow, "a,sum,1000,,,,1,,;", "a,sum,1000,,,,1,,0,;", "a,sum,1000,,,,1,,0,open;"} {
			if err := callPacks(t, rdb, items, strings.Count(items, ";")).Err(); err != nil {
				t.Errorf("%q: got %v", items, err)
			}
		}
		pairs := everything.PackPacksPairsOf(everything.PacksPairsOf{Left: "x"})
		for want, p := range map[string]everything.PacksParams{
			"items.1.note must be 0 to 64 bytes": {PairsOf: pairs, Items: everything.PackItem(
				everything.Item{Name: "a", Kind: "sum", Window: 1}, everything.Item{Name: "b", Kind: "sum", Window: 1, Note: strings.Repeat("x", 65)})},
			"items.0.kind must be one of sum, last": {PairsOf: pairs, Items: everything.PackItem(everything.Item{Name: "a"})},
			"pairs_of must have 1 to 2 rows":        {},
		} {
			p.Subject = "u"
			if _, err := c.Packs(t.Context(), p); err == nil || err.Error() != "everything.packs: "+want {
				t.Errorf("rows out of bounds: got %v, want %s", err, want)
			}
		}
	})
}

// serials is the library with an item.prepare that numbers the rows it prepares: packs returns a row's number as its milliseconds.
func serials(t *testing.T) string {
	return prepared(t, "  made = made + 1\n  row.window_ms = made\n  return refusal and row\n")
}

// prepared is the library with another body of item.prepare.
func prepared(t *testing.T, body string) string {
	t.Helper()
	text, err := os.ReadFile("functions/lib/item.lua")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "local item = {}")
	tree, found := source.Load(os.DirFS("functions"), "functions", source.Options{Replace: map[string]string{
		"item": head + "local item, made = {}, 0\nfunction item.prepare(row)\n" + body + "end\nreturn item\n",
	}})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	return bundle.Write(tree.Libraries[0])
}

// A client that sends another plan with every call costs what decoding costs: what the server keeps is bounded, and a plan that others
// use meanwhile stays prepared.
func TestPacks_anotherPlanEachCallKeepsMemoryBounded(t *testing.T) {
	plans := 100_000
	if testing.Short() {
		plans = 5_000
	}
	for _, e := range engines.All(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			if err := rdb.FunctionLoad(t.Context(), serials(t)).Err(); err != nil {
				t.Fatal(err)
			}
			total := plans
			if !e.Real {
				total = plans / 20
			}
			const hot = 8 // plans that are used again and again, each once among 48 new ones: fewer than a generation holds
			decoded := map[int64]bool{}
			random := rand.New(rand.NewPCG(1, 2))
			before := int64(0)
			for sent := 0; sent < total; {
				pipe := rdb.Pipeline()
				var replies []*redis.Cmd
				for range 10 {
					for i := range 48 {
						sent++
						callPacks(t, pipe, fmt.Sprintf("n%d,sum,%d,,,,1,%s;", sent, 1+random.IntN(1_000_000), strings.Repeat("x", 64)), 1)
						if i%6 == 0 {
							replies = append(replies, callPacks(t, pipe, fmt.Sprintf("hot%d,sum,1,,,,1,;", i/6), 1))
						}
					}
				}
				if _, err := pipe.Exec(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, reply := range replies {
					decoded[readPacks(t, reply.Val()).Whole] = true
				}
				if before == 0 && sent > total/10 {
					before = vm(t, rdb)
				}
			}
			if len(decoded) != hot {
				t.Errorf("%d plans in use were decoded %d times among %d others", hot, len(decoded), total)
			}
			if after := vm(t, rdb); after > before+256<<10 {
				t.Errorf("the functions' memory was %d bytes after %d plans, and is %d after %d", before, total/10, after, total)
			} else {
				t.Logf("%d plans: memory %d KiB after a tenth, %d KiB after all; %d hot plans decoded %d times", total, before>>10, after>>10, hot, len(decoded))
			}
		})
	}
}

// vm is the memory of the interpreter that runs functions; 0 where the server does not tell.
func vm(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	for line := range strings.Lines(rdb.Info(t.Context(), "memory").Val()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory_vm_functions:"); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// A prepare that fails is the author's error: nothing is kept, and the error names the line.
func TestPacks_aPrepareThatFails(t *testing.T) {
	for _, e := range engines.All(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			code := prepared(t, "  made = made + 1\n  if made < 3 then\n    return refusal.no.such\n  end\n  row.window_ms = made\n")
			if err := rdb.FunctionLoad(t.Context(), code).Err(); err != nil {
				t.Fatal(err)
			}
			c, err := everything.New(rdb, fcall.Options{Namespace: "ns"})
			if err != nil {
				t.Fatal(err)
			}
			params := everything.PacksParams{Subject: "u", Items: everything.PackItem(
				everything.Item{Name: "a", Kind: "sum", Window: 1000}), PairsOf: everything.PackPacksPairsOf(everything.PacksPairsOf{Left: "x"})}
			for range 2 {
				var script *fcall.ScriptError
				if _, err := c.Packs(t.Context(), params); !errors.As(err, &script) || script.File != "functions/lib/item.lua" || script.Line != 31 {
					t.Errorf("got %v (%+v), want a ScriptError of functions/lib/item.lua:31", err, script)
				}
			}
			if got, err := c.Packs(t.Context(), params); err != nil || got.Whole != 3 {
				t.Errorf("got %+v, %v, want the row that was prepared third", got, err)
			}
		})
	}
}

// A given Caller gets its reply from elsewhere.
type given struct{ val any }

func (g given) Process(_ context.Context, cmd redis.Cmder) error {
	cmd.(interface{ SetVal(any) }).SetVal(g.val)
	return nil
}

// readPacks reads what packs has replied to a call that was made by hand.
func readPacks(t testing.TB, val any) everything.PacksResult {
	t.Helper()
	client, err := everything.New(given{val}, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pair := everything.PackPacksPairsOf(everything.PacksPairsOf{Left: "l"})
	r, err := client.Packs(t.Context(), everything.PacksParams{Subject: "u", PairsOf: pair})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// FuzzPacks holds that what the Go client packs comes out of the decoder as it went in, and that any other text is refused as RLARG or
// read as rows that the Go client packs too.
func FuzzPacks(f *testing.F) {
	f.Add(goodRow, "minute", "note", int64(1000), int64(1), int64(0), true)
	f.Add("a,sum,1000,,0,1,0,%00%ff,1,open;b,last,1,0,,,1,;", "%", ",;\x00\xff", int64(86_400_000_000), int64(-1), int64(1), false)
	f.Add("a,sum,01,,,,1,;", "\n", strings.Repeat("\x80", 64), int64(1), int64(9), int64(1<<53), true)
	f.Add(";;;;", "~", "", int64(1), int64(10), int64(-1), true)
	server := embedded.New(embedded.Options{})
	f.Cleanup(func() { server.Close() })
	rdb := server.Client()
	f.Cleanup(func() { rdb.Close() })
	if err := rdb.FunctionLoad(f.Context(), everything.Library.Code).Err(); err != nil {
		f.Fatal(err)
	}
	c, err := everything.New(rdb, fcall.Options{Namespace: "ns"})
	if err != nil {
		f.Fatal(err)
	}
	pairs := everything.PackPacksPairsOf(everything.PacksPairsOf{Left: "x", Right: 1})
	// answer is what a pack of the Go client gives.
	answer := func(t *testing.T, rows ...everything.Item) ([]everything.ItemResult, bool) {
		result, err := c.Packs(t.Context(), everything.PacksParams{Subject: "u", Items: everything.PackItem(rows...), PairsOf: pairs})
		if errors.Is(err, fcall.ErrArgument) {
			return nil, false
		}
		if err != nil {
			t.Fatalf("%+v: %v", rows, err)
		}
		return result.Items, true
	}
	f.Fuzz(func(t *testing.T, text, name, note string, window, cost, budget int64, on bool) {
		row := everything.Item{Name: name, Kind: "sum", Window: time.Duration(window) * time.Microsecond, Note: note, On: on, Shadow: !on}
		want := everything.ItemResult{Name: name, Kind: "sum", Window: row.Window, Note: note, On: on, Shadow: !on, Cost: 1, Mode: "closed"}
		if cost >= 0 {
			row.Cost, want.Cost = new(cost), cost
		}
		if budget >= 0 && budget < 1<<40 {
			row.Budget = new(fcall.Micros(budget))
			want.Window += time.Duration(budget) * time.Microsecond
		}
		if got, ok := answer(t, row); ok {
			want.State, want.Seen = got[0].State, got[0].Seen
			if d := cmp.Diff([]everything.ItemResult{want}, got); d != "" {
				t.Errorf("%+v (-want +got):\n%s", row, d)
			}
		}

		var reply any
		for rows := range 5 {
			var err error
			if reply, err = callPacks(t, rdb, text, rows).Result(); err == nil {
				break
			}
			if !strings.HasPrefix(err.Error(), "RLARG items") && !strings.HasPrefix(err.Error(), "RLARG packs must be called with") || strings.ContainsAny(err.Error(), "\r\n\x00") {
				t.Fatalf("%q: got %q", text, err)
			}
		}
		if reply == nil {
			return
		}
		var again []everything.Item
		for _, row := range readPacks(t, reply).Items {
			again = append(again, everything.Item{
				Name: row.Name, Kind: row.Kind, Window: row.Window, Cost: new(row.Cost), Since: row.Since, On: row.On, Note: row.Note, Shadow: row.Shadow,
				Mode: row.Mode,
			})
		}
		got, ok := answer(t, again...)
		if !ok {
			return // the window holds the budget, and is too long with it
		}
		for i, row := range got {
			if d := cmp.Diff(again[i], everything.Item{
				Name: row.Name, Kind: row.Kind, Window: row.Window, Cost: new(row.Cost), Since: row.Since, On: row.On, Note: row.Note, Shadow: row.Shadow, Mode: row.Mode,
			}, utc); d != "" {
				t.Errorf("%q was read as rows that come back as others (-want +got):\n%s", text, d)
			}
		}
	})
}
