package luatest_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// What Redis does not promise is no difference between two servers: the order of JSON's fields, of a set and of a hash, and a stream's IDs.
func TestContract_comparesMeaning(t *testing.T) {
	clock, err := os.ReadFile("../functions/lib/clock.lua")
	if err != nil {
		t.Fatal(err)
	}
	contract(t, fstest.MapFS{
		"lib/clock.lua":       {Data: clock},
		"sample/library.lua":  {Data: []byte("--- Examples.\n--- @library sample 1.0.0\n")},
		"sample/describe.lua": {Data: []byte(describe)},
		"sample/tag.lua":      {Data: []byte(tag)},
		"sample/note.lua":     {Data: []byte(note)},
	})
}

const (
	describe = `--- Describes a person.
--- @use clock
--- @key    person string[person]      what is known
--- @arg    name   text[1..20]         the name
--- @arg    age    count[0..150]       the age
--- @arg    keep   duration[1s..1d]    how long it is kept
--- @result text   text[400]           what is known
local function describe(person, name, age, keep_us)
  local text = cjson.encode({name = name, age = age, city = 'x', zip = '1', tags = {name}, born = {year = 2000 - age, month = 1}})
  clock.store_for(person, text, keep_us)
  return text
end
`
	tag = `--- Adds a tag.
--- @use clock
--- @key    tags   set[tags]           the tags
--- @key    counts hash[counts]        how often each was added
--- @arg    name   text[1..20]         a tag
--- @arg    keep   duration[1s..1d]    how long they are kept
--- @result total  count               how often tags were added
--- @result rows   group[0..100]       the tags
--- @result rows.name text[20]         a tag
local function tag(tags, counts, name, keep_us)
  if redis.call('SCARD', tags) >= 100 and redis.call('SISMEMBER', tags, name) == 0 then
    redis.call('DEL', tags, counts)
  end
  redis.call('SADD', tags, name)
  redis.call('HINCRBY', counts, name, 1)
  clock.extend(tags, keep_us)
  clock.extend(counts, keep_us)
  local all, rows, total = redis.call('SMEMBERS', tags), {}, 0 -- rlfunc:ignore key-loop 100 at most
  for i = 1, #all do
    rows[i] = {name = all[i]}
    total = total + (tonumber(redis.call("HGET", counts, all[i]) or 0) or 0)
  end
  return total, rows
end
`
	note = `--- Notes a text.
--- @use clock
--- @key    notes stream[notes]        the notes
--- @arg    name  text[1..20]          a text
--- @arg    keep  duration[1s..1d]     how long they are kept
--- @result id    text[40]             its ID
--- @result last  text[40]             the first one's
local function note(notes, name, keep_us)
  local id = redis.call('XADD', notes, 'MAXLEN', 10, '*', 'name', name)
  clock.extend(notes, keep_us)
  return id, redis.call('XRANGE', notes, '-', '+', 'COUNT', 1)[1][1]
end
`
)

// contract runs Contract on a library of a test, on all engines.
func contract(t *testing.T, files fstest.MapFS) {
	t.Helper()
	tree, found := codegen.Load(files, "functions", codegen.Options{})
	if len(found) > 0 {
		t.Fatal(found)
	}
	lib := tree.Libraries[0]
	luatest.Contract(t, luatest.Suite[any]{
		Library: &fcall.Library{Name: lib.Spec.Name, Version: lib.Spec.Version, ServerName: lib.Spec.Server, Code: codegen.Bundle(lib)},
		Client:  func(fcall.Caller, fcall.Options) (any, error) { return nil, nil },
		Source:  files, Root: "functions",
		Engines: func(t testing.TB) (all []luatest.Engine) {
			for _, e := range engines.Real(t) {
				all = append(all, luatest.Engine{Name: e.Name, Client: e.Client})
			}
			return all
		},
	})
}
