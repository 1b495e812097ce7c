package vet_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

const clockFile = `--- The server's clock.
--- @lib clock
local clock = {}

function clock.now_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

function clock.expire(key, ttl_us)
  redis.call('PEXPIRE', key, math.ceil(ttl_us / 1000))
end

local texts = {}

local function keep(span_us)
  local text = string.format('%.0f', math.ceil(span_us / 1000))
  texts[-span_us] = text -- rlfunc:ignore library-state a span has one text
  return text
end

function clock.expire_after(key, span_us)
  redis.call('PEXPIRE', key, texts[-span_us] or keep(span_us))
end

function clock.store(key, value, ttl_ms)
  redis.call('SET', key, value, 'PX', ttl_ms)
end

function clock.store_for(key, value, span_us)
  redis.call('SET', key, value, 'PX', texts[-span_us] or keep(span_us))
end

return clock
`

// exampleName is the function that stands directly below the header.
func exampleName(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i > 0 && strings.HasPrefix(lines[i-1], "---") && strings.HasPrefix(line, "local function ") {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "local function "), "(")
			return name
		}
	}
	return ""
}

// withClock adds the clock to the files around a function that uses it.
func withClock(text string, files fstest.MapFS) fstest.MapFS {
	if strings.Contains(text, "@use") {
		files["lib/clock.lua"] = &fstest.MapFile{Data: []byte(clockFile)}
	}
	return files
}

// check runs one function file through the pipeline.
func check(t *testing.T, text string) diag.List {
	t.Helper()
	name := exampleName(text)
	fsys := withClock(text, fstest.MapFS{
		"example/library.lua":      {Data: []byte("--- Examples.\n--- @library example 1.0.0\n")},
		"example/" + name + ".lua": {Data: []byte(text)},
	})
	tree, found := source.Load(fsys, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatalf("the example is not annotated well:\n%v\n%s", found, text)
	}
	return vet.Check(tree)
}

func TestRules_examplesSayWhatTheySay(t *testing.T) {
	for _, rule := range vet.Rules {
		t.Run(rule.ID, func(t *testing.T) {
			found := check(t, rule.Bad)
			if len(found) == 0 {
				t.Errorf("the bad example has no finding:\n%s", rule.Bad)
			}
			for _, d := range found {
				if d.Rule != rule.ID {
					t.Errorf("the bad example has a finding of another rule: %v\n%s", d, rule.Bad)
				}
			}
			if found := check(t, rule.Good); len(found) > 0 {
				t.Errorf("the good example has findings:\n%v\n%s", found, rule.Good)
			}
			if !strings.HasPrefix(rule.Checks, "Checks that ") || !strings.HasSuffix(rule.Checks, ".") || rule.Why == "" {
				t.Errorf("rule %s is not described: %q, %q", rule.ID, rule.Checks, rule.Why)
			}
		})
	}
}

// What only running finds has a shape that vet accepts: the examples are run in codegen/contract.
func TestRunRules_areNotOfShape(t *testing.T) {
	for _, rule := range vet.RunRules {
		if found := append(check(t, rule.Bad), check(t, rule.Good)...); len(found) > 0 {
			t.Errorf("%s: %v", rule.ID, found)
		}
	}
}

func TestRules_idsAreUnique(t *testing.T) {
	var ids []string
	for _, rule := range slices.Concat(vet.Rules, vet.RunRules) {
		if slices.Contains(ids, rule.ID) {
			t.Errorf("%s is repeated", rule.ID)
		}
		ids = append(ids, rule.ID)
	}
}
