package conformance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
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

func TestBundle_isByteForByteWhatTheServerHolds(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, _ *everything.Client) {
		libs, err := rdb.FunctionList(t.Context(), redis.FunctionListQuery{WithCode: true}).Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(libs) != 1 || libs[0].Code != everything.Library.Code {
			t.Errorf("the server holds other bytes than gen/: %d libraries", len(libs))
		}
	})
}

func TestEcho_everyTypeComesBackAsSent(t *testing.T) {
	full := everything.EchoParams{
		Subject: "user42", Number: 100, Cost: new(int64(0)), Bonus: new(int64(0)), Level: 9, Price: 1_000_000_000, Tip: 1,
		Window: 1001 * time.Nanosecond, Grace: time.Hour, Since: time.UnixMicro(1_763_706_467_123_584).UTC(),
		Latest: time.UnixMicro(1).UTC(), On: true, Off: true, Note: "a\x00b\r\n\xff{}", Receipt: strings.Repeat("r", 256),
		Kind: everything.EchoKindBucket, Mode: everything.EchoModeOpen,
	}
	fullWant := everything.EchoResult{
		Bucket: "ns:{user42}:state", Second: "ns:{user42}:more", Number: 100, Level: 9, Price: 1_000_000_000, Tip: 1,
		Window: 2 * time.Microsecond, Grace: time.Hour, Since: full.Since, Later: full.Latest, On: true, Off: true,
		Note: full.Note, Receipt: full.Receipt, Kind: everything.EchoKindBucket, Mode: everything.EchoModeOpen,
	}
	least := everything.EchoParams{Subject: "u", Number: 1, Window: time.Microsecond, Since: time.UnixMicro(0), Kind: everything.EchoKindLog}
	leastWant := everything.EchoResult{
		Bucket: "ns:{u}:state", Second: "ns:{u}:more", Number: 1, Cost: 7, Window: time.Microsecond, Grace: 5 * time.Second,
		Since: time.Time{}, Later: time.Time{}, Kind: everything.EchoKindLog, Mode: everything.EchoModeClosed,
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for _, test := range []struct {
			name   string
			params everything.EchoParams
			want   everything.EchoResult
		}{{"all given", full, fullWant}, {"all absent", least, leastWant}} {
			got, err := c.Echo(t.Context(), test.params)
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			if diff := cmp.Diff(test.want, got, utc); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
			pipe := rdb.Pipeline()
			pending := c.QueueEcho(t.Context(), pipe, test.params)
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err = pending.Result(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, utc); diff != "" {
				t.Errorf("%s, pipelined (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

var utc = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })

func TestRows_groupsGoInAndComeOutAsSlices(t *testing.T) {
	params := everything.RowsParams{
		Subject: "u", Before: 5,
		Limits: []everything.RowsLimits{
			{Name: "minute", Form: everything.RowsLimitsFormSum, Window: time.Minute},
			{Name: "odd name: {x}", Form: everything.RowsLimitsFormLast, Kind: everything.RowsLimitsKindBucket, Window: time.Hour, Cost: new(int64(0))},
		},
		Tiers: []everything.RowsTiers{{}, {Block: time.Minute}},
		After: "end",
	}
	folded := fcall.KeyOf("ns", "u", "log", "odd name: {x}")
	want := everything.RowsResult{
		Total: 9,
		Limits: []everything.RowsLimitsResult{
			{Name: "minute", Log: "ns:{u}:log:minute", Seen: "ns:{u}:seen:minute", State: "ns:{u}:sum:minute", Kind: "log", Window: time.Minute, Cost: 1, Ok: true},
			{Name: "odd name: {x}", Log: folded, Seen: strings.Replace(folded, ":log:", ":seen:", 1), State: strings.Replace(folded, ":log:", ":last:", 1), Kind: "bucket", Window: time.Hour, Ok: true},
		},
		Tiers: []everything.RowsTiersResult{{}, {Block: time.Minute}},
		After: "end",
	}
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		got, err := c.Rows(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
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
			"groups": {"0", "0"},
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
		Logs:    []everything.GroupsLogs{{Name: "a"}, {Name: "b"}},
		Tables:  []everything.GroupsTables{{Name: "c"}, {Name: "d"}},
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
		for _, how := range []everything.FailHow{everything.FailHowResult, everything.FailHowNegative, everything.FailHowNan} {
			err := call(how)
			if !errors.As(err, &script) || script.File != "functions/everything/fail.lua" || script.Line != 7 ||
				script.Text != "result number must be a whole number from 0 to 9007199254740992" {
				t.Errorf("a result that is %s: got %v (%+v), want the result's name at functions/everything/fail.lua:7", how, err, script)
			}
		}
		rdb.RPush(t.Context(), "ns:{u}:state", "x")
		err = call(everything.FailHowRuntime)
		if !errors.Is(err, fcall.ErrState) || !strings.Contains(err.Error(), "ns:{...}:state") {
			t.Errorf("a key of another type: got %v, want ErrState that names the key without its subject", err)
		}
	})
}
