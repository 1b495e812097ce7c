package contract_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/contract"
)

// found runs functions of a library, by their names, and returns the rules that they break.
func found(t *testing.T, functions map[string]string) (rules []string) {
	t.Helper()
	clock, err := os.ReadFile(ports + "/lib/clock.lua")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"lib/clock.lua":      {Data: clock},
		"sample/library.lua": {Data: []byte("--- A sample.\n--- @library sample 1.0.0\n")},
	}
	for name, text := range functions {
		files["sample/"+name+".lua"] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, problems := source.Load(files, "functions", source.Options{})
	if len(problems) > 0 {
		t.Fatal(problems.Error())
	}
	lib, _ := tree.Library("sample")
	r, err := contract.Run([]*contract.Library{contract.Of(lib)}, contract.Options{Calls: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Log(f)
		rules = append(rules, f.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// What a call removes as a whole is nobody's any more, even if it then writes the same again.
func TestRun_keysThatAreMadeAnew(t *testing.T) {
	const add = `--- Adds a value, or begins anew with it.
--- @use clock
--- @key    values stream[values]   the values
--- @arg    anew   bool             whether to forget those before
--- @arg    value  text[8]          the value
--- @arg    keep   duration[1s..1h] how long they are kept
--- @result added  bool             true
local function add(values, anew, value, keep_us)
  if anew then
    redis.call('DEL', values)
  end
  redis.call('XADD', values, redis.call('XLEN', values) + 1, 'v', value)
  clock.EXPIRE(values, keep_us)
  return true
end
`
	if rules := found(t, map[string]string{"add": strings.ReplaceAll(add, "EXPIRE", "extend")}); len(rules) > 0 {
		t.Errorf("found %q, want nothing", rules)
	}
	if rules := found(t, map[string]string{"add": strings.ReplaceAll(add, "EXPIRE", "expire")}); !slices.Equal(rules, []string{"shortened-ttl"}) {
		t.Errorf("found %q, want shortened-ttl", rules)
	}
}

// A span that callers leave out is one of the call, too: this one is a thousandth of another that they may pass.
func TestRun_unitsOfDefaults(t *testing.T) {
	const remember = `--- Remembers a value.
--- @use clock
--- @key    value  string[value]       the value
--- @arg    keep   duration[1s..1h]=5m how long it is kept
--- @arg    other  duration[83h..84h]  of something else
--- @result added  bool                true
local function remember(value, keep_us, other_us)
  clock.store_for(value, other_us > 300000000000 and '1' or '2', KEEP)
  return true
end
`
	if rules := found(t, map[string]string{"remember": strings.ReplaceAll(remember, "KEEP", "keep_us")}); len(rules) > 0 {
		t.Errorf("found %q, want nothing", rules)
	}
	if rules := found(t, map[string]string{"remember": strings.ReplaceAll(remember, "KEEP", "keep_us * 1000")}); !slices.Equal(rules, []string{"unit"}) {
		t.Errorf("found %q, want unit", rules)
	}
}
