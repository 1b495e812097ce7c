package vet_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/internal/codegen/bundle"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/codegen/vet"
)

// series is a0, a1 and so on, with a separator.
func series(prefix string, n int, separator string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return strings.Join(parts, separator)
}

// TestCheck_refusesWhatTheCompilerRefuses compares the limits of Lua's compiler with a server: code that it does not load is a finding.
// Code close below a limit, which it loads, may be one.
func TestCheck_refusesWhatTheCompilerRefuses(t *testing.T) {
	client := oldest(t).Client(t)
	for _, c := range []struct {
		name  string
		body  string
		loads bool
	}{
		{"locals of a function", "local " + series("a", 199, ", "), true},
		{"too many locals", "local " + series("a", 200, ", "), false},
		{"locals in a for", "for _ = 1, 2 do local " + series("a", 195, ", ") + " end", true},
		{"too many locals in a for", "for _ = 1, 2 do local " + series("a", 196, ", ") + " end", false},
		{"too many locals in a for over a list", "for _ in ipairs({}) do local " + series("a", 196, ", ") + " end", false},
		{"too many locals in two fors", "for _ = 1, 2 do for _ = 1, 2 do local " + series("a", 192, ", ") + " end end", false},
		{"too many locals, with one for a name", "local " + series("a", 100, ", ") + " local " + series("a", 100, ", "), false},
		{"locals of blocks", "do local " + series("a", 150, ", ") + " end do local " + series("a", 150, ", ") + " end", true},
		{"locals of one name in blocks", "for _ = 1, 2 do local a local a end " + strings.Repeat("do local a local a end ", 99), true},
		{"upvalues", "local " + series("a", 60, ", ") + " local function g() return " + series("a", 60, " + ") + " end", true},
		{"too many upvalues", "local " + series("a", 61, ", ") + " local function g() return " + series("a", 61, " + ") + " end", false},
		{"too many upvalues with a lib file", "local " + series("a", 60, ", ") + " local function g() return clock.now_us() + " + series("a", 60, " + ") + " end", false},
		{"too many upvalues of an inner function", "local " + series("a", 61, ", ") + " local function g() return function() return " + series("a", 61, " + ") + " end end", false},
		{"arguments", "tonumber(" + series("", 230, ", ") + ")", true},
		{"too many arguments", "tonumber(" + series("", 249, ", ") + ")", false},
		{"too many arguments of a call in a table", "local a = {tonumber(" + series("", 253, ", ") + ")}", false},
		{"too many arguments beside locals", "local " + series("a", 150, ", ") + " local b = tonumber(" + series("", 120, ", ") + ")", false},
		{"elements", "local a = {" + series("", 500, ", ") + "}", true},
		{"too many results", "do return " + series("", 249, ", ") + " end", false},
		{"targets", "local a " + strings.Repeat("a, ", 99) + "a = 1", true},
		{"too many targets", "local a " + strings.Repeat("a, ", 199) + "a = 1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "--- Counts.\n--- @use    clock\n--- @key    counter string[f] the counter\n--- @result count   count     calls\nlocal function f(counter)\n  " + c.body +
				"\n  return clock.now_us() * redis.call('STRLEN', counter)\nend\n"
			tree, found := source.Load(fstest.MapFS{
				"lib/clock.lua": {Data: []byte(clockFile)},
				"x/library.lua": {Data: []byte("--- Examples.\n--- @library x 1.0.0\n")},
				"x/f.lua":       {Data: []byte(text)},
			}, "functions", source.Options{})
			if len(found) > 0 {
				t.Fatal(found)
			}
			err := client.FunctionLoadReplace(t.Context(), bundle.Write(tree.Libraries[0]).Code).Err()
			if (err == nil) != c.loads {
				t.Fatalf("the server's answer: %v", err)
			}
			refused := false
			for _, d := range vet.Check(tree) {
				refused = refused || d.Rule == vet.RuleTooManyLocals
			}
			if refused == c.loads {
				t.Errorf("refused: %v", refused)
			}
		})
	}
}
