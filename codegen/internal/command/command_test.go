package command_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/command"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

func TestOf_namesTheLiteralsOfAFileAndOfWhatItUses(t *testing.T) {
	tree, found := source.Load(fstest.MapFS{
		"lib/clock.lua": {Data: []byte("--- The clock.\n--- @lib clock\nlocal clock = {}\nfunction clock.now_us()\n  return redis.call('TIME')[1] * 1000000\nend\nreturn clock\n")},
		"lib/store.lua": {Data: []byte(`--- Stores.
--- @use clock
--- @lib store
local store = {}

function store.put(key)
  redis.call('set', key, clock.now_us(), 'PX', 5)
end

return store
`)},
		"lib/other.lua": {Data: []byte("--- Another.\n--- @lib other\nlocal other = {}\nfunction other.drop(key)\n  return redis.call('DEL', key)\nend\nreturn other\n")},
		"x/library.lua": {Data: []byte("--- Examples.\n--- @library x 1.0.0\n")},
		"x/f.lua": {Data: []byte(`--- Stores.
--- @use    store
--- @key    counter string[count] the counter
--- @result count   count         its length
local function f(counter)
  store.put(counter)
  local ok, length = pcall(redis.call, 'STRLEN', counter)
  redis.pcall(ok and 'APPEND' or 'GETDEL', counter, '')
  redis.call('PUBLISH', 'changes', 'x')
  return redis.call('OBJECT', 'freq', counter) + length
end
`)},
		"x/g.lua": {Data: []byte("--- Drops.\n--- @use other\n--- @key counter string[count] the counter\n--- @result count count how many\nlocal function g(counter)\n  return other.drop(counter)\nend\n")},
	}, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := [][]string{{"APPEND", "GETDEL", "OBJECT|FREQ", "PUBLISH|changes", "SET", "STRLEN", "TIME", "TYPE"}, {"DEL", "TYPE"}}
	if d := cmp.Diff(want, command.Of(tree.Libraries[0])); d != "" {
		t.Errorf("commands (-want +got):\n%s", d)
	}
}
