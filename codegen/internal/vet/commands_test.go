package vet_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

func TestExamine_namesTheCommandsThatAFunctionMayRun(t *testing.T) {
	fsys := fstest.MapFS{
		"lib/clock.lua": {Data: []byte(clockFile)},
		"lib/store.lua": {Data: []byte(`--- Stores.
--- @use clock
--- @lib store
local store = {}

local function put(key)
  redis.call('set', key, clock.now_us(), 'PX', 5)
end

function store.put(key)
  put(key)
end

function store.drop(key)
  redis.call('DEL', key)
end

return store
`)},
		"x/library.lua": {Data: []byte("--- Examples.\n--- @library x 1.0.0\n")},
		"x/f.lua": {Data: []byte(`local function unused(key)
  redis.call('INCR', key)
end

local function helper(key)
  local call = redis.pcall
  return call('STRLEN', key)
end

--- Stores.
--- @use    store
--- @key    counter string[count] the counter
--- @result count   count         its length
local function f(counter)
  store.put(counter)
  if helper(counter) == -1 then
    redis.call('GETDEL', counter)
  end
  return helper(counter)
end
`)},
	}
	tree, found := source.Load(fsys, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatalf("load: %v", found)
	}
	got := vet.Examine(tree).Commands
	if d := cmp.Diff([][][]string{{{"GETDEL", "SET", "STRLEN", "TIME"}}}, got); d != "" {
		t.Errorf("commands (-want +got):\n%s", d)
	}
}
