package dyncall_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
)

// everything is the library of every shape, on an embedded server.
func everything(t *testing.T) (*fcall.Client, *spec.Library) {
	t.Helper()
	tree, found := codegen.Parse(os.DirFS("../../../../codegen/internal/conformance/functions"), "functions", codegen.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	lib := tree.Libraries[0]
	server := embedded.New(embedded.Options{})
	t.Cleanup(func() { server.Close() })
	held := runtime.Library(lib)
	if err := server.Client().FunctionLoad(t.Context(), held.Code).Err(); err != nil {
		t.Fatal(err)
	}
	client, err := fcall.NewClient(server, held, fcall.Options{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	return client, &lib.Spec
}

func find(t *testing.T, lib *spec.Library, name string) *spec.Function {
	t.Helper()
	for i := range lib.Functions {
		if lib.Functions[i].Name == name {
			return &lib.Functions[i]
		}
	}
	t.Fatalf("no function %s", name)
	return nil
}

func TestDo_printsEveryTypeByNameAndUnit(t *testing.T) {
	client, lib := everything(t)
	for _, test := range []struct {
		function, words, want string
	}{
		{
			"echo", "subject=u number=3 price=1500000 window=1h30m since=2026-01-02T03:04:05.000006Z on=true note=hello kind=log",
			`{"bucket":"ns:{u}:state","second":"ns:{u}:more","number":3,"cost":7,"bonus":0,"level":0,"price":1500000,"tip":0,` +
				`"window":5400,"grace":5,"since":"2026-01-02T03:04:05.000006Z","later":null,"on":true,"off":false,` +
				`"note":"hello","receipt":"","kind":"log","mode":"closed"}`,
		},
		{
			"rows", "subject=u before=1 limits.0.name=minute limits.0.form=sum limits.0.window=1m limits.1.name=day limits.1.form=last limits.1.window=1d limits.1.cost=0 limits.1.kind=bucket tiers.0.block=2.5s",
			`{"total":4,"limits":[{"name":"minute","log":"ns:{u}:log:minute","seen":"ns:{u}:seen:minute","state":"ns:{u}:sum:minute","kind":"log","window":60,"cost":1,"ok":true},` +
				`{"name":"day","log":"ns:{u}:log:day","seen":"ns:{u}:seen:day","state":"ns:{u}:last:day","kind":"bucket","window":86400,"cost":0,"ok":true}],` +
				`"tiers":[{"block":2.5}],"after":"ns:{u}:state"}`,
		},
		{
			"packs", "subject=u before=1 items.0.name=a:b items.0.kind=sum items.0.window=1s items.0.note= items.1.name=b items.1.kind=last items.1.window=1m items.1.note=x,;% items.1.cost=0 items.1.shadow=true items.1.of=203.0.113.7 pairs_of.0.left=l pairs_of.0.right=7",
			`{"total":7,"items":[{"name":"a:b","kind":"sum","state":"ns:{u}:sum:~6783a31eabf68ccc0660f935c0826282","seen":"ns:{u}:seen:~6783a31eabf68ccc0660f935c0826282","window":1,"cost":1,"since":null,"on":false,"note":"","shadow":false,"mode":"closed"},` +
				`{"name":"b","kind":"last","state":"ns:{203.0.113.7}:last:b","seen":"ns:{203.0.113.7}:seen:b","window":60,"cost":0,"since":null,"on":false,"note":"x,;%","shadow":true,"mode":"closed"}],` +
				`"whole":61000,"pairs_of":[{"left":"l","right":7,"third":0}],"between":"ns:{u}:state"}`,
		},
		{
			"sometimes", "subject=u number=3 note=n note.of=v pairs_of.0.left=l others.0.of=w others.1.of=x",
			`{"number":4,"keys":[{"name":"ns:{u}:state"},{"name":"ns:{v}:noted"},{"name":"ns:{w}:state"},{"name":"ns:{x}:state"}]}`,
		},
		{
			"pays", "subject=north payer=ann payee=a:b receipt=r receipt.of=south",
			`{"same":false,"stored":0,"from":"ns:{north}:account:ann","to":"ns:{north}:account:~6783a31eabf68ccc0660f935c0826282","seen":"ns:{south}:paid:ann"}`,
		},
	} {
		call, err := dyncall.New(client, find(t, lib, test.function), strings.Fields(test.words))
		if err != nil {
			t.Fatalf("%s: %v", test.function, err)
		}
		result, err := call.Do(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", test.function, err)
		}
		got, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.function, diff)
		}
	}
}

func TestNew_reportsAllErrorsAtOnce(t *testing.T) {
	client, lib := everything(t)
	for _, test := range []struct {
		function, words string
		want            []string
	}{
		{"echo", "subject=u numbr=3", []string{
			`unknown argument "numbr"; did you mean number? (arguments: subject, number, cost, bonus, level, price, tip, window, grace, since, latest, on, off, note, receipt, kind, mode)`,
			"number is missing: a whole number", "price is missing: money", "window is missing: a duration", "since is missing: a time",
			"note is missing: any bytes", "kind is missing: a word",
		}},
		{"echo", "subject=u number=1e3 price=1.5 window=60 since=now on=maybe note=x kind=log", []string{
			`number must be a whole number, got "1e3"`,
			`price must be a whole number of micros, such as 1500000 for 1.50, got "1.5"`,
			`window must be a duration such as 90s, 1m30s or 30d, got "60"`,
			`since must be a time such as 2026-01-31T12:00:00Z, got "now"`,
			`on must be true or false, got "maybe"`,
		}},
		{"echo", "subject=u number=1 price=0 window=4294967295d since=2026-01-01T00:00:00Z note=x kind=log", []string{
			`window must be a duration such as 90s, 1m30s or 30d, got "4294967295d"`,
		}},
		{"rows", "subject=u before=1 limits.1.name=x limits.1.form=sum limits.1.window=1m limits.01.name=y limits.name=z", []string{
			`unknown argument "limits.01.name"; did you mean limits.N.name? (arguments: subject, before, limits.N.name, limits.N.form, limits.N.kind, limits.N.window, limits.N.cost, limits.N.of, tiers.N.block, after)`,
			`unknown argument "limits.name"; did you mean limits.N.name? (arguments: subject, before, limits.N.name, limits.N.form, limits.N.kind, limits.N.window, limits.N.cost, limits.N.of, tiers.N.block, after)`,
			"limits.0.name is missing: the limit's name; it ends its keys", "limits.0.form is missing: a word that names a key", "limits.0.window is missing: a duration",
		}},
		{"packs", "subject=u before=1 items.1.name=x items.1.kind=sum items.1.window=1 items.1.note=n pairs_of.0.of=x", []string{
			`unknown argument "pairs_of.0.of" (arguments: subject, before, items.N.name, items.N.kind, items.N.window, items.N.cost, items.N.budget, items.N.since, items.N.on, items.N.note, items.N.shadow, items.N.mode, items.N.of, between, pairs_of.N.left, pairs_of.N.right, pairs_of.N.third, after)`,
			"items.0.name is missing: the item's name; it ends its keys", "items.0.kind is missing: a word that names a key", "items.0.window is missing: a duration",
			"items.0.note is missing: any bytes", "pairs_of.0.left is missing: a text", "pairs_of.0.right is missing: a number",
			`items.1.window must be a duration such as 90s, 1m30s or 30d, got "1"`,
		}},
		{"sometimes", "subject=u number=3 pairs_of.0.left=l others.1.of=x other=y counted.of=z", []string{
			`unknown argument "other"; did you mean others.N.of? (arguments: subject, note.of, others.N.of, number, note, pairs_of.N.left, items.N.name, items.N.kind, items.N.window, items.N.cost, items.N.budget, items.N.since, items.N.on, items.N.note, items.N.shadow, items.N.mode, items.N.of)`,
			`unknown argument "counted.of" (arguments: subject, note.of, others.N.of, number, note, pairs_of.N.left, items.N.name, items.N.kind, items.N.window, items.N.cost, items.N.budget, items.N.since, items.N.on, items.N.note, items.N.shadow, items.N.mode, items.N.of)`,
			"others.0.of is missing: keys of other subjects",
		}},
	} {
		_, err := dyncall.New(client, find(t, lib, test.function), strings.Fields(test.words))
		var got dyncall.Problems
		if !errors.As(err, &got) {
			t.Fatalf("%s: got %v", test.words, err)
		}
		if diff := cmp.Diff(test.want, []string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.words, diff)
		}
	}
	for words, want := range map[string]string{
		"echo subject=u number=0 price=0 window=31d since=2026-01-01T00:00:00Z note=x kind=log":                                  "everything.echo: number must be a whole number from 1 to 100",
		"packs subject=u before=1 pairs_of.0.left=x pairs_of.0.right=1 pairs_of.1.left=x pairs_of.1.right=1 pairs_of.1.third=10": "everything.packs: pairs_of.1.third must be a whole number from 1 to 9",
	} {
		name, words, _ := strings.Cut(words, " ")
		call, err := dyncall.New(client, find(t, lib, name), strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = call.Do(t.Context()); !errors.Is(err, fcall.ErrArgument) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", words, err, want)
		}
	}
}

// Which result means refused is in the header; what is counted and what call exits with go by it.
func TestRefused_isWhatTheHeaderSays(t *testing.T) {
	tree, found := codegen.Parse(fstest.MapFS{
		"seats/library.lua": {Data: []byte("--- Seats.\n--- @library seats 1.0.0\n")},
		"seats/take.lua": {Data: []byte(`--- Takes a seat.
--- @flags  no-writes
--- @key    room     string[room]           the room
--- @arg    how      enum(free,full,closed) what to answer
--- @result left     count                  seats left
--- @result reserved bool                   whether the seat is taken
--- @result state    enum(free,full,closed) the room's state
--- @result since    time                   0
--- @refused reserved
local function take(room, how)
  return 0, how == 'free', how, redis.call('EXISTS', room)
end
`)},
		"seats/look.lua": {Data: []byte(`--- Looks at the room.
--- @flags  no-writes
--- @key    room     string[room]           the room
--- @arg    how      enum(free,full,closed) what to answer
--- @result reserved bool                   whether the seat is taken: no refusal 
--- @result state    enum(free,full,closed) the room's state
--- @refused state   full closed
local function look(room, how)
  return redis.call('EXISTS', room) == 1, how
end
`)},
		"seats/peek.lua": {Data: []byte(`--- Looks, and refuses nothing.
--- @flags  no-writes
--- @key    room     string[room]           the room
--- @arg    how      enum(free,full,closed) what to answer
--- @result reserved bool                   whether it is free
local function peek(room, how)
  return how == 'free'
end
`)},
	}, "functions", codegen.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	lib := tree.Libraries[0]
	server := embedded.New(embedded.Options{})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	bundle := runtime.Library(lib)
	if err := rdb.FunctionLoad(t.Context(), bundle.Code).Err(); err != nil {
		t.Fatal(err)
	}
	client, err := fcall.NewClient(rdb, bundle, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]struct {
		refused bool
		outcome string
	}{
		"take free": {false, "reserved"}, "take full": {true, "refused"},
		"look free": {false, "free"}, "look full": {true, "full"}, "look closed": {true, "closed"},
		"peek free": {false, "reserved"}, "peek full": {false, "not_reserved"},
	} {
		function, how, _ := strings.Cut(call, " ")
		c, err := dyncall.New(client, find(t, &lib.Spec, function), []string{"subject=r", "how=" + how})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Do(t.Context())
		if err != nil || got.Refused() != want.refused || got.Outcome() != want.outcome {
			t.Errorf("%s: refused %v, outcome %s, %v, want %+v", call, got.Refused(), got.Outcome(), err, want)
		}
		if s := c.Many(t.Context(), 2, 1); s.Outcomes[want.outcome] != 2 {
			t.Errorf("%s: counted %v, want %s", call, s.Outcomes, want.outcome)
		}
		if text, err := json.Marshal(got); function == "take" && (err != nil || !strings.Contains(string(text), `"since":null`)) {
			t.Errorf("a time of 0: %s, %v", text, err)
		}
	}
}

func TestSeconds_isExact(t *testing.T) {
	for us, want := range map[int64]string{0: "0", 1: "0.000001", 5_987_654: "5.987654", 60_000_000: "60", 2_500_000: "2.5"} {
		if got := dyncall.Seconds(us); got != want {
			t.Errorf("%d: got %s, want %s", us, got, want)
		}
	}
}

func TestLines_quotesWhatDoesNotPrint(t *testing.T) {
	for text, want := range map[string]string{
		"hello":                 "hello",
		"":                      "",
		"caf\u00e9 =  7":        "caf\u00e9 =  7",
		"\x1b[31mred\nlevel  9": `"\x1b[31mred\nlevel  9"`,
		"a\x00":                 `"a\x00"`,
		"\xff":                  `"\xff"`,
		`"x"`:                   `"\"x\""`,
	} {
		v := dyncall.Value{Field: spec.Field{Name: "note", Kind: spec.KindText}, Text: text}
		if got := v.String(); got != want {
			t.Errorf("%q prints %s, want %s", text, got, want)
		}
	}
}
