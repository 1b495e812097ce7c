package breaking_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// breaks reports whether a client that runs would notice something.
func breaks(found []breaking.Finding) bool {
	return slices.ContainsFunc(found, func(f breaking.Finding) bool { return f.Category != breaking.API })
}

// TestCompare_knowsTheWire changes one thing of a contract at a time, loads the library that it makes, and calls it by the client of
// the unchanged one. That client does not notice a change that no wire rule covers.
func TestCompare_knowsTheWire(t *testing.T) {
	onpath.Full(t)
	full := everything.EchoParams{
		Subject: "user42", Number: 100, Cost: new(int64(0)), Bonus: new(int64(3)), Level: 9, Price: 1_000_000_000, Tip: 1,
		Window: 30 * 24 * time.Hour, Grace: time.Hour, Since: time.UnixMicro(2), Latest: time.UnixMicro(1), On: true, Off: true,
		Note: "", Receipt: "r", Kind: everything.EchoKindBucket, Mode: everything.EchoModeOpen,
	}
	least := everything.EchoParams{Subject: "u", Number: 1, Window: time.Microsecond, Since: time.UnixMicro(0), Kind: everything.EchoKindLog}

	rdb, client, lib, at := beside(t, "echo")
	answers := func(code string) (out [2]everything.EchoResult, err error) {
		if err := rdb.FunctionLoadReplace(t.Context(), code).Err(); err != nil {
			t.Fatal(err)
		}
		for i, p := range []everything.EchoParams{full, least} {
			if out[i], err = client.Echo(t.Context(), p); err != nil {
				return out, err
			}
		}
		return out, nil
	}
	unnoticed(t, lib, at, 50, changes, func(string) bool { return true }, func(code string) (any, error) { return answers(code) })
}

// beside is an embedded server, a client of the unchanged library, that library, and the place of one of its functions.
func beside(t *testing.T, function string) (*redis.Client, *everything.Client, *source.Library, int) {
	t.Helper()
	server := embedded.New(embedded.Options{})
	t.Cleanup(func() { server.Close() })
	rdb := server.Client()
	t.Cleanup(func() { rdb.Close() })
	client, err := everything.New(rdb, fcall.Options{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	lib := own(t)[1].Libraries[0]
	return rdb, client, lib, slices.IndexFunc(lib.Spec.Functions, func(f spec.Function) bool { return f.Name == function })
}

// unnoticed makes each change of the fields of a function that in says, and asks the library that it makes. What no rule of the wire
// speaks of, least changes or more, changes no answer.
func unnoticed(t *testing.T, lib *source.Library, at, least int, changes []change, in func(where string) bool, ask func(code string) (any, error)) {
	t.Helper()
	want, err := ask(bundle.Write(lib))
	if err != nil {
		t.Fatal(err)
	}
	tried, quiet := 0, 0
	everywhere(lib.Spec.Functions[at], func(where string, list func(*spec.Function) *[]spec.Field, i int) {
		for _, c := range changes {
			now := *lib
			now.Spec = clone(lib.Spec, at)
			fields := list(&now.Spec.Functions[at])
			if !in(where) {
				continue
			}
			if *fields = c.edit(*fields, i); *fields == nil {
				continue
			}
			tried++
			if found := breaking.Compare(only(lib.Spec), only(now.Spec)); breaks(found) {
				if c.name == "append" {
					t.Errorf("%s, %s: %s", c.name, where, lines(found))
				}
				continue
			}
			quiet++
			got, err := ask(bundle.Write(&now))
			if err != nil {
				t.Errorf("%s, %s: no rule of the wire speaks of it, and an old client gets: %v", c.name, where, err)
			} else if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, %s: no rule of the wire speaks of it, and an old client reads (-before +now):\n%s", c.name, where, d)
			}
		}
	})
	t.Logf("%d changes, %d of which no old client may notice", tried, quiet)
	if quiet < least || quiet > tried/2+least {
		t.Errorf("%d changes, of which no client may notice %d: is that a test?", tried, quiet)
	}
}

// TestCompare_knowsPackedRows changes one thing of a packed group's rows at a time, and calls the library that this makes with packs
// that the client of the unchanged one has made. That client does not notice a change that no rule reports.
func TestCompare_knowsPackedRows(t *testing.T) {
	pack := everything.PackItem(
		everything.Item{Name: "a", Kind: "sum", Window: time.Second},
		everything.Item{
			Name: "b", Kind: "last", Window: 24 * time.Hour, Cost: new(int64(0)), Budget: new(fcall.Micros(1 << 40)), Since: time.UnixMicro(1),
			On: true, Note: ",;%", Shadow: true, Mode: "open",
		},
		everything.Item{Name: "b", Kind: "sum", Window: time.Microsecond, Cost: new(int64(9)), Budget: new(fcall.Micros(0)), Since: time.UnixMicro(1 << 53)},
	)
	pairs := everything.PackPacksPairsOf(everything.PacksPairsOf{Left: "x", Right: 1 << 53, Third: 1}, everything.PacksPairsOf{Left: "y", Third: 9})
	rdb, client, lib, at := beside(t, "packs")
	answer := func(code string) (everything.PacksResult, error) {
		if err := rdb.FunctionLoadReplace(t.Context(), code).Err(); err != nil {
			t.Fatal(err)
		}
		return client.Packs(t.Context(), everything.PacksParams{Subject: "u", Items: pack, PairsOf: pairs})
	}
	appended := change{"append", func(list []spec.Field, i int) []spec.Field {
		if i < len(list)-1 {
			return nil
		}
		return append(list, spec.Field{Name: "added", Lua: "added", Kind: spec.KindCount, Max: 9, Optional: true, Line: 1, Col: 1})
	}}
	unnoticed(t, lib, at, 20, append(changes, appended), func(where string) bool {
		return strings.HasPrefix(where, "argument ") && strings.Contains(where, ".")
	}, func(code string) (any, error) { return answer(code) })
}

// A row that is appended to by an optional argument: the newer library reads older packs, and the older one reads newer packs that do
// not use the argument and refuses those that do.
func TestCompare_packsOfAnotherVersion(t *testing.T) {
	library := func(more string) *source.Library {
		tree, found := source.Load(fstest.MapFS{
			"demo/library.lua": {Data: []byte("--- Looks.\n--- @library demo 1.0.0\n")},
			"demo/look.lua": {Data: []byte("--- Looks.\n--- @key a string[b] c\n--- @arg rows group[1..4] r\n--- @arg rows.name text[8] n\n" +
				"--- @arg rows.limit count[1..9] l\n--- @arg rows.cost count[0..9]=1 c\n" + more + "--- @result d text e\n" +
				"local function look(a, rows)\n  local row = rows[1]\n  return string.format('%s %d %d %d', row.name, row.limit, row.cost, row.burst or 0)\nend\n")},
		}, "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found)
		}
		return tree.Libraries[0]
	}
	old, now := library(""), library("--- @arg rows.burst count[1..9]? b\n")
	if found := breaking.Compare(only(old.Spec), only(now.Spec)); len(found) > 0 {
		t.Errorf("an optional argument at the end of a row: %s", lines(found))
	}
	if found := breaking.Compare(only(now.Spec), only(old.Spec)); len(found) != 1 || found[0].Rule != "argument-place" {
		t.Errorf("and back: %s", lines(found))
	}
	pack := func(cost, burst *int64) string {
		p := fcall.NewPacker(2)
		p.Row("")
		p.Text("x")
		p.Int(5)
		p.OptIntPtr(cost)
		p.OptIntPtr(burst)
		return p.Pack().String()
	}
	const refused = "RLARG rows.0 must have 2 to 3 cells, and has 4"
	server := embedded.New(embedded.Options{})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	for _, test := range []struct {
		name string
		lib  *source.Library
		pack string
		want string
	}{
		{"older pack, older library", old, pack(new(int64(3)), nil), "x 5 3 0"},
		{"older pack, newer library", now, pack(new(int64(3)), nil), "x 5 3 0"},
		{"older pack without a cost, newer library", now, pack(nil, nil), "x 5 1 0"},
		{"newer pack, newer library", now, pack(nil, new(int64(7))), "x 5 1 7"},
		{"newer pack that uses no burst, older library", old, pack(nil, nil), "x 5 1 0"},
		{"newer pack, older library", old, pack(nil, new(int64(7))), refused},
		{"newer pack with a cost, older library", old, pack(new(int64(0)), new(int64(7))), refused},
	} {
		if err := rdb.FunctionLoadReplace(t.Context(), bundle.Write(test.lib)).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := rdb.FCall(t.Context(), "demo_v1_look", []string{"ns:{u}:b"}, test.pack).Text()
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
