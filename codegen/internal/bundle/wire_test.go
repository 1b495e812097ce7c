package bundle

import (
	"strconv"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A repeated argument is parsed once, whatever callers send in between, and the cache is bounded.
func TestWire_aRepeatedNumberStaysCached(t *testing.T) {
	l := lua.NewState()
	defer l.Close()
	if err := l.DoString(wire + `
parsed = {}
local find = string.find
string.find = function(text, pattern) parsed[text] = (parsed[text] or 0) + 1 return find(text, pattern) end
function known(text) return rlfunc_recent[text] or rlfunc_parse(text) end
function cached()
  local n = 0
  for _, texts in ipairs({rlfunc_recent, rlfunc_older}) do
    for _ in pairs(texts) do n = n + 1 end
  end
  return n
end`); err != nil {
		t.Fatal(err)
	}
	call := func(name string, args ...lua.LValue) lua.LValue {
		if err := l.CallByParam(lua.P{Fn: l.GetGlobal(name), NRet: 1, Protect: true}, args...); err != nil {
			t.Fatal(err)
		}
		got := l.Get(-1)
		l.Pop(1)
		return got
	}
	repeated := []string{"10", "60000000", "9007199254740992"}
	for i := range 10_000 {
		for _, text := range append(repeated, strconv.Itoa(1_000_000+i)) {
			if got, want := call("known", lua.LString(text)), text; got.Type() != lua.LTNumber || strconv.FormatFloat(float64(got.(lua.LNumber)), 'f', 0, 64) != want {
				t.Fatalf("%s became %s", text, got)
			}
		}
	}
	for _, text := range repeated {
		if n := l.GetField(l.GetGlobal("parsed"), text); n != lua.LNumber(1) {
			t.Errorf("%s was parsed %s times in 10000 calls, want once", text, n)
		}
	}
	if n := call("cached").(lua.LNumber); n > 512 {
		t.Errorf("%v texts are cached, want at most 512", n)
	}
}

func TestInteger_onlyWhatCallersRepeatIsCached(t *testing.T) {
	for _, test := range []struct {
		field spec.Field
		row   bool
		want  bool
	}{
		{spec.Field{Kind: spec.KindCount, Max: 1_000_000}, false, true},
		{spec.Field{Kind: spec.KindGroup, Max: 16}, false, true},
		{spec.Field{Kind: spec.KindDuration, Max: spec.MaxDuration}, false, true},
		{spec.Field{Kind: spec.KindCount, Max: spec.MaxInt - 1}, false, false},
		{spec.Field{Kind: spec.KindMicros, Max: 1_000_000}, false, false},
		{spec.Field{Kind: spec.KindMicros, Max: spec.MaxInt}, true, true},
		{spec.Field{Kind: spec.KindCount, Max: spec.MaxInt - 1}, true, false},
		{spec.Field{Kind: spec.KindTime, Max: 1_000_000}, false, false},
	} {
		want := "rlfunc_whole(x)"
		if test.want {
			want = "rlfunc_recent[x] or rlfunc_parse(x)"
		}
		if got := integer(test.field, "x", test.row); got != want {
			t.Errorf("%s to %d: got %s, want %s", test.field.Kind, test.field.Max, got, want)
		}
	}
}
