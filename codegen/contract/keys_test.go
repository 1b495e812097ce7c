package contract_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

var quick = contract.Options{Calls: 2000, Quick: true}

// found runs functions of a library, by their names, and returns the rules that they break.
func found(t *testing.T, o contract.Options, functions map[string]string) (rules []string) {
	t.Helper()
	for _, f := range run(t, o, functions).Findings {
		t.Log(f)
		rules = append(rules, f.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func run(t *testing.T, o contract.Options, functions map[string]string) *contract.Report {
	t.Helper()
	files := fstest.MapFS{
		"lib/clock.lua":      golden.Tree(t, ports)["lib/clock.lua"],
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
	r, err := contract.Run([]*contract.Library{contract.Of(lib)}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
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
	if rules := found(t, quick, map[string]string{"add": strings.ReplaceAll(add, "EXPIRE", "extend")}); len(rules) > 0 {
		t.Errorf("found %q, want nothing", rules)
	}
	if rules := found(t, quick, map[string]string{"add": strings.ReplaceAll(add, "EXPIRE", "expire")}); !slices.Equal(rules, []string{"shortened-ttl"}) {
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
	if rules := found(t, quick, map[string]string{"remember": strings.ReplaceAll(remember, "KEEP", "keep_us")}); len(rules) > 0 {
		t.Errorf("found %q, want nothing", rules)
	}
	if rules := found(t, quick, map[string]string{"remember": strings.ReplaceAll(remember, "KEEP", "keep_us * 1000")}); !slices.Equal(rules, []string{"unit"}) {
		t.Errorf("found %q, want unit", rules)
	}
}

// A hold that its owner gives up takes the time with it that all share, but not the time of another's hold.
func TestRun_holdsThatAreGivenUp(t *testing.T) {
	const take = `--- Takes a hold.
--- @use clock
--- @key    holds hash[holds]        'since', and the end of each owner's hold
--- @arg    owner text[8]            the owner
--- @arg    lease duration[1s..1d]   how long it holds
--- @result taken bool               true
local function take(holds, owner, lease_us)
  local now_us = clock.now_us()
  redis.call('HSETNX', holds, 'since', clock.text(now_us))
  redis.call('HSET', holds, 'of:' .. owner, clock.text(now_us + lease_us))
  clock.extend(holds, lease_us)
  return true
end
`
	const give = `--- Gives a hold up.
--- @use clock
--- @key    holds hash[holds] 'since', and the end of each owner's hold
--- @arg    owner text[8]     the owner
--- @result left  bool        whether others hold
local function give(holds, owner)
  redis.call('HDEL', holds, 'of:' .. owner)
  local now_us = clock.now_us()
  local longest_us = 0
  local all = redis.call('HGETALL', holds) -- rlfunc:ignore key-loop a test
  for i = 1, #all, 2 do
    if all[i] ~= 'since' then
      longest_us = math.max(longest_us, (tonumber(all[i + 1]) or 0) - now_us)
    end
  end
  if longest_us <= 0 or #all <= 2 then
    redis.call('DEL', holds)
    return false
  end
  clock.expire(holds, LEFT)
  return true
end
`
	as := func(left string) map[string]string {
		return map[string]string{"take": take, "give": strings.ReplaceAll(give, "LEFT", left)}
	}
	if rules := found(t, quick, as("longest_us")); len(rules) > 0 {
		t.Errorf("found %q, want nothing", rules)
	}
	if rules := found(t, quick, as("math.min(longest_us, 500000)")); !slices.Equal(rules, []string{"shortened-ttl"}) {
		t.Errorf("found %q, want shortened-ttl", rules)
	}
}

// Work that grows up to a bound is not unbounded, however far the calls before have come.
func TestRun_boundedWork(t *testing.T) {
	functions := map[string]string{
		"add": `--- Adds a value.
--- @key    values list[values] forever the values
--- @arg    value  text[32]             the value
--- @result length count                how many there are
local function add(values, value)
  return redis.call('LPUSH', values, value)
end
`,
	}
	const has = `--- Looks for a value; writes nothing.
--- @flags  no-writes
--- @key    values list[values] forever the values
--- @arg    value  text[32]             the value
--- @result found  bool                 whether it is there
local function has(values, value)
  return redis.call('LPOS', values, 'v:' .. valueBOUND) ~= false
end
`
	for bound, want := range map[string][]string{
		"":                    {"key-loop"},
		", 'MAXLEN', 10000":   nil,
		", 'MAXLEN', 1000000": {"key-loop"},
	} {
		functions["has"] = strings.ReplaceAll(has, "BOUND", bound)
		if rules := found(t, contract.Options{}, functions); !slices.Equal(rules, want) {
			t.Errorf("with %q: found %q, want %q", bound, rules, want)
		}
	}
}

// Nobody may take it for a fault that the embedded engine has no consumer groups: such calls are not judged, whatever they leave behind.
func TestRun_commandsThatTheEngineLacks(t *testing.T) {
	const take = `--- Takes a job.
--- @use clock
--- @key    jobs  stream[jobs]      the jobs
--- @arg    keep  duration[1s..1h]  how long they are kept
--- @arg    safe  bool              whether to catch errors
--- @result done  bool              true
local function take(jobs, keep_us, safe)
  redis.call('XADD', jobs, '*', 'v', '1')
  if safe then
    redis.pcall('XGROUP', 'CREATE', jobs, 'workers', '0')
    return 7
  end
  redis.call('XREADGROUP', 'GROUP', 'workers', 'w', 'STREAMS', jobs, '>')
  clock.extend(jobs, keep_us)
  return true
end
`
	r := run(t, contract.Options{}, map[string]string{"take": take})
	var got []string
	for _, u := range r.Unchecked {
		got = append(got, u.String())
	}
	want := []string{
		"functions/sample/take.lua:10: not checked here, because the embedded engine has no XGROUP: give --redis or RLFUNC_TEST_REDIS_URL",
		"functions/sample/take.lua:13: not checked here, because the embedded engine has no XREADGROUP: give --redis or RLFUNC_TEST_REDIS_URL",
	}
	elsewhere := slices.DeleteFunc(r.Sequences, func(steps []contract.Step) bool { // a key of another kind ends a call before it
		return slices.ContainsFunc(steps, func(s contract.Step) bool { return len(s.Foreign) > 0 })
	})
	if !slices.Equal(got, want) || len(r.Findings) > 0 || len(elsewhere) > 0 {
		t.Errorf("not checked: %q, want %q; findings: %v; sequences to play elsewhere: %d", got, want, r.Findings, len(elsewhere))
	}
}

// A hold that is renewed for longer than its key lives is gone with the key, however many others there are.
func TestRun_timesThatOutliveTheirKey(t *testing.T) {
	const take = `--- Takes a seat.
--- @use clock
--- @key    seats zset[seats]       the end of each hold
--- @arg    name  text[1..8]        who takes it
--- @arg    hold  duration[1s..1d]  for how long
--- @result taken bool              true
local function take(seats, name, hold_us)
  redis.call('ZADD', seats, clock.now_us() + hold_us, name)
  clock.extend(seats, hold_us)
  return true
end
`
	const renew = `--- Renews a seat.
--- @use clock
--- @key    seats   zset[seats]      the end of each hold
--- @arg    name    text[1..8]       who has it
--- @arg    hold    duration[1s..1d] for how long from now
--- @result renewed bool             whether there was one
local function renew(seats, name, hold_us)
  if not redis.call('ZSCORE', seats, name) then
    return false
  end
  redis.call('ZADD', seats, 'GT', clock.now_us() + hold_us, name)
EXTEND
  return true
end
`
	as := func(extend string) map[string]string {
		return map[string]string{"take": take, "renew": strings.ReplaceAll(renew, "EXTEND", extend)}
	}
	if rules := found(t, quick, as("  clock.extend(seats, hold_us)")); len(rules) > 0 {
		t.Errorf("found %q, want nothing", rules)
	}
	if rules := found(t, quick, as("")); !slices.Equal(rules, []string{"outlives-key"}) {
		t.Errorf("found %q, want outlives-key", rules)
	}
}

// What replaces a value keeps nothing of it, even if both have the same format.
func TestRun_valuesThatAreReplaced(t *testing.T) {
	const store = `--- Stores a text.
--- @key    cache  string[cache]    the text
--- @arg    text   text[1..200]     the text
--- @arg    keep   duration[1s..1d] for how long
--- @result stored bool             true
local function store(cache, text, keep_us)
  redis.call('SET', cache, VALUE, 'PX', math.ceil(keep_us / 1000))
  return true
end
`
	for value, want := range map[string][]string{
		"cjson.encode({format = 1, text = text})":                                            nil,
		"cjson.encode({format = 1, version = 'a long constant', text = {text}})":             nil,
		"string.sub((redis.call('GET', cache) or 'all') .. ';' .. text, -900)":               {"shortened-ttl"},
		"string.sub('format=1;' .. (redis.call('GET', cache) or '') .. ',' .. text, 1, 900)": {"shortened-ttl"},
	} {
		if rules := found(t, quick, map[string]string{"store": strings.ReplaceAll(store, "VALUE", value)}); !slices.Equal(rules, want) {
			t.Errorf("%s: found %q, want %q", value, rules, want)
		}
	}
}
