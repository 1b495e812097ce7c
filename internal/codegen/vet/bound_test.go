package vet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/codegen/diag"
	"github.com/rlfunc/rlfunc/internal/codegen/vet"
)

const boundHeader = "--- Counts.\n--- @key profile string[profile] the profile\n--- @arg m text[64] which\n--- @result count count calls\nlocal function f(profile, m)\n"

// numbered returns a format for each of n numbers.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, i)
	}
	return b.String()
}

// TestCheck_endsOnMachineMadeCode holds that vet ends on code with more paths than it follows, and reports where it gave up.
func TestCheck_endsOnMachineMadeCode(t *testing.T) {
	sevenLoops := func(body string) string {
		return strings.Repeat("for _ = 1, 2 do\n", 7) + body + strings.Repeat("end\n", 7)
	}
	for _, c := range []struct {
		name, body string
		givesUp    bool
	}{
		{"many conditions on many locals", numbered("local v%d = redis.call('GET', profile) -- %d\n", 150) + sevenLoops(numbered("if not v%d then v%d = m end\n", 150)), true},
		{"many elements", "local t = {" + strings.Repeat("{m, {m}}, ", 5000) + "1}\n" +
			sevenLoops(strings.Repeat("if redis.call('GET', profile) then t[#m] = t[#m + 1] end\n", 100)), true},
		{"a long text", "local t = ''\n" + sevenLoops(strings.Repeat("t = "+strings.Repeat("(redis.call('GET', profile) or m) .. ", 40)+"m\n", 5)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name == "many elements" {
				t.Skip("SKIPPED: takes 3 s")
			}
			found := check(t, boundHeader+c.body+"return #m\nend\n")
			gaveUp := slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
				return d.Rule == vet.RuleComplexity && strings.Contains(d.Message, "gave up") && strings.Contains(d.Message, "split the function")
			})
			if gaveUp != c.givesUp {
				t.Errorf("gave up: %v, want %v; findings:\n%v", gaveUp, c.givesUp, found)
			}
		})
	}
}
