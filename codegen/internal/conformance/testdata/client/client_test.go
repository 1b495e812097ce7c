package conformance

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestMain(m *testing.M) { engines.Main(m) }

// each runs a test on every engine with the library loaded.
func each(t *testing.T, test func(t *testing.T, rdb *redis.Client, c *everything.Client)) {
	for _, e := range engines.All(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			if err := rdb.FunctionLoad(t.Context(), everything.Library.Code).Err(); err != nil {
				t.Fatal(err)
			}
			c, err := everything.New(rdb, fcall.Options{Namespace: "ns"})
			if err != nil {
				t.Fatal(err)
			}
			test(t, rdb, c)
		})
	}
}

// All callers without a name would share one bucket: neither a client nor a server takes an empty subject.
func TestEcho_refusesAnEmptySubject(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		params := everything.EchoParams{Number: 1, Window: time.Microsecond, Since: time.UnixMicro(0), Kind: everything.EchoKindLog}
		_, err := c.Echo(t.Context(), params)
		pipe := rdb.Pipeline()
		_, queued := c.QueueEcho(t.Context(), pipe, params).Result()
		for _, err := range []error{err, queued} {
			if !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), "subject must not be empty") || pipe.Len() != 0 {
				t.Errorf("got %v and %d queued, want ErrArgument", err, pipe.Len())
			}
		}
		for fn, words := range map[string][]any{
			"echo":   {"1", "", "", "", "0", "", "1", "", "1", "", "0", "", "", "", "log", ""},
			"groups": {},
		} {
			err := rdb.FCall(t.Context(), "everything_v2_"+fn, []string{"ns:{}:state", "ns:{}:more"}, words...).Err()
			if err == nil || err.Error() != "RLARG subject must not be empty" {
				t.Errorf("%s of another client's empty subject: got %v", fn, err)
			}
		}
	})
}

// A key of the wrong type is named as itself, whichever group it belongs to; what is as the header says is not.
func TestGroups_stateErrorNamesTheKey(t *testing.T) {
	params := everything.GroupsParams{
		Subject: "u",
		Logs:    everything.PackGroupsLogs(everything.GroupsLogs{Name: "a"}, everything.GroupsLogs{Name: "b"}),
		Tables:  everything.PackGroupsTables(everything.GroupsTables{Name: "c"}, everything.GroupsTables{Name: "d"}),
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(rdb.Set(t.Context(), "ns:{u}:state", "x", 0).Err())
		must(rdb.HSet(t.Context(), "ns:{u}:more", "x", 1).Err())
		for _, name := range []string{"a", "b", "c", "d"} {
			must(rdb.RPush(t.Context(), "ns:{u}:list:"+name, "x").Err())
			must(rdb.ZAdd(t.Context(), "ns:{u}:seen:"+name, redis.Z{Member: "x"}).Err())
			must(rdb.HSet(t.Context(), "ns:{u}:hash:"+name, "x", 1).Err())
		}
		got, err := c.Groups(t.Context(), params)
		want := everything.GroupsResult{Sizes: []everything.GroupsSizesResult{{Size: 1, Seen: 1}, {Size: 1, Seen: 1}}, Total: 4}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("got %v (-want +got):\n%s", err, diff)
		}
		for _, test := range []struct{ key, wanted string }{
			{"ns:{u}:state", "string"},
			{"ns:{u}:more", "hash"},
			{"ns:{u}:list:a", "list"},
			{"ns:{u}:seen:b", "zset"},
			{"ns:{u}:hash:c", "hash"},
			{"ns:{u}:hash:d", "hash"},
		} {
			must(rdb.Rename(t.Context(), test.key, "aside").Err())
			must(rdb.SAdd(t.Context(), test.key, "x").Err())
			_, err := c.Groups(t.Context(), params)
			var state *fcall.StateError
			if !errors.As(err, &state) || state.Key != test.key || state.Problem != "holds a set, not a "+test.wanted {
				t.Errorf("%s holds a set: got %v (%+v)", test.key, err, state)
			}
			must(rdb.Rename(t.Context(), "aside", test.key).Err())
		}
	})
}

func TestFail_errorsAreTypedAndNameTheAuthorsLine(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		call := func(how everything.FailHow) error {
			_, err := c.Fail(t.Context(), everything.FailParams{Subject: "u", How: how})
			return err
		}
		if err := call(everything.FailHowNot); err != nil {
			t.Errorf("no failure: got %v", err)
		}
		var code *fcall.CodeError
		if err := call(everything.FailHowDeclared); !errors.As(err, &code) {
			t.Errorf("a declared code: got %v", err)
		}
		var script *fcall.ScriptError
		if err := call(everything.FailHowRuntime); !errors.As(err, &script) || script.File != "functions/everything/fail.lua" || script.Line != 13 {
			t.Errorf("a Lua error: got %v (%+v), want functions/everything/fail.lua:13", err, script)
		}
		err := call(everything.FailHowCommand)
		if !errors.Is(err, fcall.ErrOutcomeUnknown) {
			t.Errorf("an error of a command: got %v, want one that says the outcome is unknown", err)
		}
		if !errors.As(err, &script) || script.File != "functions/everything/fail.lua" || script.Line != 7 {
			t.Errorf("an error of a command: got %v (%+v), want the function's line, functions/everything/fail.lua:7", err, script)
		}
		for _, how := range []everything.FailHow{everything.FailHowResult, everything.FailHowNan} {
			var reply *fcall.ReplyError
			if err := call(how); !errors.As(err, &reply) || reply.Field != "number" {
				t.Errorf("a result that is %s: got %v, want an error that names the result", how, err)
			}
		}
		rdb.RPush(t.Context(), "ns:{u}:state", "x")
		err = call(everything.FailHowRuntime)
		if !errors.Is(err, fcall.ErrState) || !strings.Contains(err.Error(), "ns:{...}:state") {
			t.Errorf("a key of another type: got %v, want ErrState that names the key without its subject", err)
		}
	})
}

// TestKeep_stateLastsWhereTheHeaderSaysSo plays the table as an author would: keys that last need no expiry, and keep none.
func TestKeep_stateLastsWhereTheHeaderSaysSo(t *testing.T) {
	suite := luatest.Suite[*everything.Client]{Library: everything.Library, Client: everything.New, Source: os.DirFS("functions"), Root: "functions"}
	keep := luatest.Call((*everything.Client).Keep, everything.KeepParams{
		Subject: "u", Name: "apples", Amount: 3, Lots: everything.PackKeepLots(everything.KeepLots{Name: "a:b"}),
	})
	left := "rl:{u}:left:" + fcall.Tag("a:b") // not plain, so its key ends in a hash
	suite.Run(t,
		luatest.Step[*everything.Client]{
			Name: "first", Call: keep, Writes: true, Want: everything.KeepResult{Stock: 3},
			TTLs: map[string]time.Duration{"rl:{u}:stock": luatest.Immortal, left: luatest.Immortal, "rl:{u}:recent": time.Minute},
		},
		luatest.Step[*everything.Client]{
			Name: "a century later", Advance: 100 * 365 * 24 * time.Hour, Call: keep, Writes: true, Want: everything.KeepResult{Stock: 6},
			TTLs: map[string]time.Duration{"rl:{u}:stock": luatest.Immortal, left: luatest.Immortal, "rl:{u}:recent": time.Minute},
		},
	)
	if diff := cmp.Diff([]string{"left", "stock"}, everything.Library.Forever); diff != "" {
		t.Errorf("suffixes (-want +got):\n%s", diff)
	}
}

// older returns the code of a library whose signs lacks the last two arguments, as it was before they were added.
func older(t *testing.T) string {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"everything/library.lua", "everything/signs.lua"} {
		text, err := os.ReadFile("functions/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "--- @arg    s") || strings.HasPrefix(line, "--- @arg    score") {
				kept = append(kept, line)
			}
		}
		was := strings.Replace(strings.Join(kept, ""), ", strict, steps)\n", ")\n  local strict, steps = true, {}\n", 1)
		files[name] = &fstest.MapFile{Data: []byte(was)}
	}
	tree, found := source.Load(files, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	return bundle.Write(tree.Libraries[0])
}

// A client whose header has more arguments calls an older library of the same major version: a call that omits them runs, and one that
// gives them is refused before anything runs.
func TestOptionalArguments_newClientOldLibrary(t *testing.T) {
	code := older(t)
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		if err := rdb.FunctionLoadReplace(t.Context(), code).Err(); err != nil {
			t.Fatal(err)
		}
		p := everything.SignsParams{Subject: "u", Delta: -3, Region: "us"}
		got, err := c.Signs(t.Context(), p)
		if err != nil || !got.Allowed || got.Delta != -3 || got.Region != "us" {
			t.Errorf("a call without the new arguments: got %+v and %v", got, err)
		}
		p.Strict = new(false)
		if _, err := c.Signs(t.Context(), p); !errors.Is(err, fcall.ErrArgument) || errors.Is(err, fcall.ErrOutcomeUnknown) {
			t.Errorf("a call with a new argument: got %v, want ErrArgument", err)
		}
	})
}

// A client that sends only the arguments of the older header calls the new library, which applies the defaults of the new ones.
func TestOptionalArguments_oldClientNewLibrary(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		want, err := c.Signs(t.Context(), everything.SignsParams{Subject: "u", Delta: -3, Score: 1, Region: "us"})
		if err != nil || !want.Allowed {
			t.Fatalf("got %+v and %v, want strict by default", want, err)
		}
		sent := func(words ...any) []any {
			got, err := rdb.FCall(t.Context(), "everything_v2_signs", []string{"ns:{u}:state"}, words...).Slice()
			if err != nil {
				t.Errorf("%v: %v", words, err)
			}
			return got
		}
		short, long := sent("-3", "1", "", "", "", "us"), sent("-3", "1", "", "", "", "us", "1", "")
		if diff := cmp.Diff(long, short); diff != "" {
			t.Errorf("an older client reads another reply (-new +old):\n%s", diff)
		}
	})
}

func TestSometimes_keysGoWithTheirArguments(t *testing.T) {
	pairs := everything.PackSometimesPairsOf(everything.SometimesPairsOf{Left: "x"})
	items := everything.PackItem(everything.Item{Name: "a", Kind: everything.ItemKindLast, Window: 1000})
	const own, noted, counted = "ns:{u}:state", "ns:{u}:noted", "ns:{u}:counted"
	tests := []struct {
		params everything.SometimesParams
		want   []string
	}{
		{everything.SometimesParams{}, []string{own}},
		{everything.SometimesParams{Note: "n"}, []string{own, noted}},
		{everything.SometimesParams{Items: items}, []string{own, counted, "ns:{u}:last:a", "ns:{u}:seen:a"}},
		{everything.SometimesParams{Others: []fcall.Subject{"v", "w"}}, []string{own, "ns:{v}:state", "ns:{w}:state"}},
		{everything.SometimesParams{Note: "n", NoteOf: "v"}, []string{own, "ns:{v}:noted"}},
		{everything.SometimesParams{Items: items, Note: "n", NoteOf: "v", Others: []fcall.Subject{"a", "b", "c", "d"}}, []string{
			own, "ns:{v}:noted", counted, "ns:{u}:last:a", "ns:{u}:seen:a", "ns:{a}:state", "ns:{b}:state", "ns:{c}:state", "ns:{d}:state",
		}},
		{everything.SometimesParams{Note: "n", Items: items}, []string{own, noted, counted, "ns:{u}:last:a", "ns:{u}:seen:a"}},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for _, test := range tests {
			p := test.params
			p.Subject, p.Number, p.PairsOf = "u", 3, pairs
			got, err := c.Sometimes(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			want := everything.SometimesResult{Number: 4}
			for _, key := range test.want {
				want.Keys = append(want.Keys, everything.SometimesKeysResult{Name: key})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", test.want, diff)
			}
		}
		// A key of another type is named, whatever other keys the call has.
		for _, key := range []string{noted, counted} {
			if err := rdb.Set(t.Context(), key, "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			for _, p := range []everything.SometimesParams{{Note: "n"}, {Items: items}, {Note: "n", Items: items}} {
				if (key == noted) != (p.Note != "") && (key == noted || p.Items.Len() == 0) {
					continue
				}
				p.Subject, p.Number, p.PairsOf = "u", 3, pairs
				_, err := c.Sometimes(t.Context(), p)
				var state *fcall.StateError
				if !errors.As(err, &state) || state.Key != key {
					t.Errorf("a string in %s: got %v", key, err)
				}
			}
			rdb.Del(t.Context(), key)
		}
		// One of several keys of another type is named, too.
		if err := rdb.LPush(t.Context(), "ns:{w}:state", "x").Err(); err != nil {
			t.Fatal(err)
		}
		var state *fcall.StateError
		_, err := c.Sometimes(t.Context(), everything.SometimesParams{Subject: "u", Number: 3, PairsOf: pairs, Others: []fcall.Subject{"v", "w"}})
		if !errors.As(err, &state) || state.Key != "ns:{w}:state" {
			t.Errorf("a list where a string should be: got %v", err)
		}
		if _, err := c.Sometimes(t.Context(), everything.SometimesParams{Subject: "u", Number: 3, PairsOf: pairs, Others: make([]fcall.Subject, 5)}); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("five keys where four may be: %v", err)
		}
		// A hand-made call with a key too many or too few.
		for _, words := range [][]any{
			{1, own, "3", "n", "x;"},
			{6, own, noted, noted, noted, noted, noted, "3", "", "x;"},
			{2, own, noted, "3", "n", "x;", "a,last,1,1,,,1,;"},
			{0, "3", "n", "x;"},
		} {
			err := rdb.Do(t.Context(), append([]any{"FCALL_RO", "everything_v2_sometimes"}, words...)...).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "RLARG sometimes must be called with") && !strings.HasPrefix(err.Error(), "RLARG others must be") {
				t.Errorf("%v: %v", words, err)
			}
		}
	})
}
