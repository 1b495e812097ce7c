package vet_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/codegen/vet"
)

// branches are n conditions that are independent of each other and split a path in two each, with what they decide in
// use behind all of them: 2^n paths, which cannot all be kept apart.
func branches(n int) (before, after []string) {
	for i := range n {
		before = append(
			before,
			fmt.Sprintf("local v%d", i),
			fmt.Sprintf("if window_us * redis.call('STRLEN', counter) > %d then", i),
			fmt.Sprintf("  v%d = 'set'", i),
			"end",
		)
		after = append(after, fmt.Sprintf("if v%d then", i), fmt.Sprintf("  now_us = now_us + #v%d", i), "end")
	}
	return before, after
}

// between puts statements between 1,024 paths that split and what they split for.
func between(body ...string) []string {
	before, after := branches(10)
	return append(append(before, body...), append(after, "return 1")...)
}

const joinHeader = `--- Counts.
--- @use    clock shared
--- @key    counter string[count]      the counter
--- @arg    window  duration[1ms..30d] how long it counts
--- @arg    amount  text[64]?          how many
--- @result count   count              calls
`

// findings runs one function with a lib file beside it, and returns the rules that spoke with the lines they spoke of.
func findings(t *testing.T, shared string, body []string) []string {
	t.Helper()
	text := joinHeader + "local function f(counter, window_us, amount)\n  local now_us = clock.now_us() + shared.none(window_us) + #(amount or '')\n" +
		"  " + strings.Join(body, "\n  ") + "\nend\n"
	text = strings.Replace(text, "return 1\nend", "return now_us\nend", 1)
	fsys := fstest.MapFS{
		"lib/clock.lua":  {Data: []byte(clockFile)},
		"lib/shared.lua": {Data: []byte("--- Shared.\n--- @lib shared\nlocal shared = {}\n\nfunction shared.none(number)\n  return number * 0\nend\n" + shared + "\nreturn shared\n")},
		"x/library.lua":  {Data: []byte("--- Examples.\n--- @library x 1.0.0\n")},
		"x/f.lua":        {Data: []byte(text)},
	}
	tree, found := source.Load(fsys, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatalf("the example is not annotated well:\n%v\n%s", found, text)
	}
	var got []string
	for _, d := range vet.Check(tree) {
		lines := strings.Split(string(fsys[strings.TrimPrefix(d.File, "functions/")].Data), "\n")
		got = append(got, d.Rule+": "+strings.TrimSpace(lines[d.Line-1]))
	}
	return got
}

func TestCheck_joinedPathsKeepTheirFindings(t *testing.T) {
	cases := []struct {
		name   string
		shared string
		body   []string
		want   []string
	}{
		{name: "nothing is wrong", body: between("redis.call('SET', counter, 1, 'PX', 5)")},
		{
			name: "a write without an expiry on one path",
			body: between("if v0 and not v3 and v7 then", "  redis.call('SET', counter, 'x')", "end"),
			want: []string{"missing-ttl: redis.call('SET', counter, 'x')"},
		},
		{
			name: "an expiry that one path forgets",
			body: between("redis.call('INCR', counter)", "if not v0 or v3 or v7 then", "  redis.call('PEXPIRE', counter, 5)", "end"),
			want: []string{"missing-ttl: redis.call('INCR', counter)"},
		},
		{
			name: "NaN on one path",
			body: between("local text = '0'", "if v2 and amount then", "  text = amount", "end", "now_us = now_us + (tonumber(text) or 0)"),
			want: []string{"caller-number: now_us = now_us + (tonumber(text) or 0)"},
		},
		{
			name: "a whole number and one of which nothing is known, divided",
			body: between("local n = tonumber(redis.call('GET', counter) or '0') or 0", "if v4 then", "  n = #v4", "end", "redis.call('SETRANGE', counter, n / 3, 'x')", "redis.call('PEXPIRE', counter, 5)"),
			want: []string{"call-fraction: redis.call('SETRANGE', counter, n / 3, 'x')"},
		},
		{
			name: "false on one path",
			body: between("local found = 'x'", "if v5 then", "  found = redis.call('GET', counter)", "end", "now_us = now_us + #found"),
			want: []string{"maybe-nil: now_us = now_us + #found"},
		},
		{
			name: "data in an error on one path",
			body: between("local text = 'RLSTATE it is'", "if v6 and amount then", "  text = 'RLSTATE it is ' .. amount", "end", "if v7 then", "  return nil, {err = text}", "end"),
			want: []string{"error-data: return nil, {err = text}"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, findings(t, c.shared, c.body)); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}

func TestCheck_followsACallAgainForOtherArguments(t *testing.T) {
	const put = `
function shared.put(key, ttl_ms, options)
  if ttl_ms ~= nil then
    redis.call('SET', key, 1, 'PX', ttl_ms)
  elseif options.plain then
    redis.call('SET', key, 1)
  end
end

function shared.each(visit)
  visit('x')
end

function shared.empty(row)
  row.text = nil
end

function shared.fill(rows, count)
  if count > 0 then
    shared.fill(rows, count - 1) -- rlfunc:ignore recursion three rows
    rows[#rows + 1] = 'x'
  end
end
`
	// Every case uses every function, so that none is looked at alone.
	use := []string{
		"shared.put(counter, 5, {plain = false})", "shared.each(function(text) now_us = now_us + #text end)", "shared.empty({text = 'x'})", "shared.fill({}, 0)",
	}
	cases := []struct {
		name string
		body []string
		want []string
	}{
		{name: "nothing is wrong", body: []string{"shared.put(counter, 5, {plain = false})"}},
		{
			name: "another argument",
			body: []string{"local ttl_ms = 5", "for i = 1, 2 do", "  shared.put(counter, ttl_ms, {plain = true})", "  ttl_ms = nil", "end"},
			want: []string{"missing-ttl: shared.put(counter, ttl_ms, {plain = true})"},
		},
		{
			name: "the same table with another content",
			body: []string{
				"local options = {plain = false}", "for i = 1, 2 do", "  shared.put(counter, nil, options)", "  options.plain = true", "end",
			},
			want: []string{"missing-ttl: shared.put(counter, nil, options)"},
		},
		{
			name: "a local that the callback has changed",
			body: []string{"local found = 1", "shared.each(function(text)", "  found = nil", "  return text", "end)", "now_us = now_us + found"},
			want: []string{"maybe-nil: now_us = now_us + found"},
		},
		{
			name: "a field that the call has emptied behind its test",
			body: []string{"local row = {text = redis.call('GET', counter)}", "if row.text then", "  shared.empty(row)", "  now_us = now_us + #row.text", "end"},
			want: []string{"maybe-nil: now_us = now_us + #row.text"},
		},
		{
			name: "a table that a recursive function fills",
			body: []string{"local rows = {}", "shared.fill(rows, 3)", "for i = 1, #rows do", "  redis.call('SET', counter, rows[i])", "end"},
			want: []string{"missing-ttl: redis.call('SET', counter, rows[i])"},
		},
		{
			name: "a local that only the end of the loop names",
			body: []string{"repeat", "  local text = redis.call('GET', counter) -- rlfunc:ignore key-loop it ends", "until #text > 3"},
			want: []string{"maybe-nil: until #text > 3"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, findings(t, put, append(append(use[:len(use):len(use)], c.body...), "return 1"))); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}

func TestCheck_aLocalIsKnownUntilItsLastUse(t *testing.T) {
	for name, body := range map[string][]string{
		"behind a loop":         {"for i = 1, 2 do", "  now_us = now_us + i", "end", "now_us = now_us + #found"},
		"a loop's second turn":  {"for i = 1, 2 do", "  now_us = now_us + #found + i", "end"},
		"a loop's bound":        {"for i = 1, #found do", "  now_us = now_us + i", "end"},
		"a while's condition":   {"while now_us < #found do", "  now_us = now_us + 1", "end"},
		"an elseif":             {"if now_us > 3 then", "  now_us = 3", "elseif now_us < #found then", "  now_us = 4", "end"},
		"an inner block":        {"do", "  if now_us > 3 then", "    now_us = now_us + #found", "  end", "end"},
		"an inner function":     {"local function length()", "  return #found", "end", "now_us = now_us + length()"},
		"a function's argument": {"now_us = now_us + string.len(found)"},
	} {
		t.Run(name, func(t *testing.T) {
			var rules []string
			for _, f := range findings(t, "", append(append([]string{"local found = redis.call('GET', counter)"}, body...), "return 1")) {
				rule, _, _ := strings.Cut(f, ":")
				rules = append(rules, rule)
			}
			if d := cmp.Diff([]string{"maybe-nil"}, rules); d != "" {
				t.Errorf("rules that found something (-want +got):\n%s", d)
			}
		})
	}
}
