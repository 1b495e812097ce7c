package luatest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/fcall"
)

// A step's expectations of keys are compared with the call's effects.
func TestStep_keysAreHeldAgainstWhatTheStepSays(t *testing.T) {
	one := Key{Type: "string", Value: []string{"1"}, TTL: time.Second}
	two := Key{Type: "string", Value: []string{"2"}, TTL: time.Second}
	longer := Key{Type: "string", Value: []string{"1"}, TTL: time.Minute}
	immortal := Key{Type: "string", Value: []string{"1"}, TTL: Immortal}
	type keys = map[string]Key
	for _, c := range []struct {
		name          string
		writes        bool
		ttls          map[string]time.Duration
		before, after keys
		want          string
	}{
		{name: "nothing", before: keys{"k": one}, after: keys{"k": one}},
		{name: "a new key", writes: true, after: keys{"k": one}},
		{name: "a key gone", writes: true, before: keys{"k": one}, after: keys{}},
		{name: "a write that the step does not say", before: keys{"k": one}, after: keys{"k": two}, want: "to leave every key as it was"},
		{name: "an expiry that the step does not say", before: keys{"k": one}, after: keys{"k": longer}, want: "to leave every key as it was"},
		{name: "a new key that the step does not say", after: keys{"k": one}, want: "to leave every key as it was"},
		{name: "no write where the step says so", writes: true, before: keys{"k": one}, after: keys{"k": one}, want: "was to write"},
		{name: "no expiry", writes: true, after: keys{"k": immortal}, want: "left k without an expiry"},
		{name: "an expiry taken away", writes: true, before: keys{"k": one}, after: keys{"k": immortal}, want: "left k without an expiry"},
		{name: "no expiry of a key that lasts", writes: true, after: keys{"stock": immortal}},
		{name: "the test's own key without one", before: keys{"k": immortal}, after: keys{"k": immortal}},
		{name: "the expiry wanted", writes: true, after: keys{"k": one}, ttls: map[string]time.Duration{"k": time.Second}},
		{name: "another expiry", writes: true, after: keys{"k": longer}, ttls: map[string]time.Duration{"k": time.Second}, want: "expiries (-want +got)"},
		{name: "a key too many", before: keys{"k": one}, after: keys{"k": one}, ttls: map[string]time.Duration{}, want: "expiries (-want +got)"},
	} {
		if c.before == nil {
			c.before = keys{}
		}
		got := Step[any]{Writes: c.writes, TTLs: c.ttls}.keys(c.before, c.after, func(name string) bool { return name == "stock" })
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A suite in a folder of its own names the folder of the project's functions from there.
func TestSuite_sourceMustHaveTheLibrary(t *testing.T) {
	suite := Suite[any]{Library: &fcall.Library{Name: "ratelimit"}, Root: "functions"}
	if err := suite.checkSource(); err != nil {
		t.Errorf("no Source: %v", err)
	}
	suite.Source = os.DirFS("../functions")
	if err := suite.checkSource(); err != nil {
		t.Errorf("../functions: %v", err)
	}
	suite.Source = os.DirFS("functions")
	const want = `Source has no ratelimit/library.lua: its path is relative to the folder of the test, so a test in a folder of its own needs os.DirFS("../functions")`
	if err := suite.checkSource(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("functions: got %v, want %s", err, want)
	}
}

// Two outcomes are alike if they differ only in what Redis does not promise.
func TestOutcome_meaning(t *testing.T) {
	at := func(kind string, values ...string) map[string]Key {
		return map[string]Key{"k": {Type: kind, Value: values}}
	}
	unordered, ids := contract.Step{Unordered: true}, contract.Step{IDs: true}
	for name, c := range map[string]struct {
		a, b outcome
		by   contract.Step
		same bool
	}{
		"fields of JSON":          {a: outcome{Reply: `x {"a":1,"b":[{"c":2,"d":3}]}`}, b: outcome{Reply: `x {"b":[{"d":3,"c":2}],"a":1}`}, same: true},
		"another value in JSON":   {a: outcome{Reply: `{"a":1,"b":2}`}, b: outcome{Reply: `{"b":1,"a":2}`}},
		"elements of JSON":        {a: outcome{Reply: `[1,2]`}, b: outcome{Reply: `[2,1]`}},
		"members with JSON":       {a: outcome{Keys: at("set", `{"a":1,"b":2}`, `{"a":2}`)}, b: outcome{Keys: at("set", `{"a":2}`, `{"b":2,"a":1}`)}, same: true},
		"no JSON":                 {a: outcome{Reply: "{a[b"}, b: outcome{Reply: "{b[a"}},
		"IDs":                     {a: outcome{Reply: "1767323045678-0", Keys: at("stream", "1767323045678-0 x", "1767323045678-1 y")}, b: outcome{Reply: "1796010721323-0", Keys: at("stream", "1796010721323-0 x", "1796010721324-0 y")}, by: ids, same: true},
		"another ID":              {a: outcome{Reply: "1767323045678-0", Keys: at("stream", "1767323045678-0 x", "1767323045678-1 y")}, b: outcome{Reply: "1796010721324-0", Keys: at("stream", "1796010721323-0 x", "1796010721324-0 y")}, by: ids},
		"rows of a set":           {a: outcome{Reply: []any{int64(1), []any{[]any{"a"}, []any{"b"}}}}, b: outcome{Reply: []any{int64(1), []any{[]any{"b"}, []any{"a"}}}}, by: unordered, same: true},
		"the first of a set":      {a: outcome{Reply: []any{"a", "b"}}, b: outcome{Reply: []any{"b", "a"}}, by: unordered},
		"rows of a list":          {a: outcome{Reply: []any{[]any{[]any{"a"}, []any{"b"}}}}, b: outcome{Reply: []any{[]any{[]any{"b"}, []any{"a"}}}}},
		"a list made of a set":    {a: outcome{Keys: at("list", "a", "b")}, b: outcome{Keys: at("list", "b", "a")}, by: unordered, same: true},
		"a list made of no set":   {a: outcome{Keys: at("list", "a", "b")}, b: outcome{Keys: at("list", "b", "a")}},
		"a server's own error":    {a: outcome{Error: "ERR wrong kind"}, b: outcome{Error: "ERR of another kind"}, same: true},
		"an error of the library": {a: outcome{Error: "FULL of a"}, b: outcome{Error: "FULL of b"}},
	} {
		if diff := cmp.Diff(c.a.meant(c.by), c.b.meant(c.by)); (diff == "") != c.same {
			t.Errorf("%s: same %t, want %t\n%s", name, diff == "", c.same, diff)
		}
	}
}
