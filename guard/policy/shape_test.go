package policy

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// megabyte repeats part up to just below MaxFileSize.
func megabyte(part func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < MaxFileSize-20_000; i++ {
		b.WriteString(part(i))
	}
	return b.String()
}

func always(text string) func(int) string { return func(int) string { return text } }

// TestParse_hostileFilesTakeBoundedMemory reads files that once took up to 49 s and 17 GiB, or time that grew with the square of
// their size.
func TestParse_hostileFilesTakeBoundedMemory(t *testing.T) {
	onpath.Full(t)
	const most = 700 << 20 // total bytes allocated, freed or not
	for name, c := range map[string]struct{ text, want string }{
		"too large": {
			"x-a:\n" + strings.Repeat(strings.Repeat("- ", 8000)+"a\n", 225), // 3.6 MB
			"p.yaml:1:1: must have at most 1048576 bytes: set large overrides in Go",
		},
		"lists in lists": {
			"x-a:\n" + megabyte(always(strings.Repeat("- ", 8000)+"a\n")),
			"p.yaml:39:7999: must have at most 300000 YAML punctuation marks: set large overrides in Go",
		},
		"lists in one list": {
			"x-a:\n" + strings.Repeat("- ", 8000) + "a\n",
			"p.yaml:2:63: must be nested at most 32 levels deep",
		},
		"brackets":         {"x-a: " + strings.Repeat("[", 33), "p.yaml:1:37: must be nested at most 32 levels deep"},
		"mappings":         {"x-a: " + strings.Repeat("{a: ", 33), "p.yaml:1:130: must be nested at most 32 levels deep"},
		"indented":         {"x-a:\n" + indented(33), "p.yaml:33:34: must be nested at most 32 levels deep"},
		"comments":         {megabyte(always("#\n")), "p.yaml:300001:1: must have at most 300000 YAML punctuation marks: set large overrides in Go"},
		"literals":         {megabyte(always("|\n")), "p.yaml:300001:1: must have at most 300000 YAML punctuation marks: set large overrides in Go"},
		"keys":             {"x-a:\n" + megabyte(func(i int) string { return fmt.Sprintf(" a%d: 1\n", i) }), "p.yaml:502:6: " + manyKeys},
		"keys at the top":  {megabyte(func(i int) string { return fmt.Sprintf("a%d: 1\n", i) }), "p.yaml:501:5: " + manyKeys},
		"keys in quotes":   {megabyte(func(i int) string { return fmt.Sprintf("\"a%d\": 1\n", i) }), "p.yaml:501:7: " + manyKeys},
		"complex keys":     {megabyte(always("? a\n: b\n")), "p.yaml:501:1: " + manyKeys},
		"anchored keys":    {megabyte(func(i int) string { return fmt.Sprintf("&%s a: 1\n", strings.Repeat("a", 1+i%40)) }), "p.yaml:501:25: " + manyKeys},
		"empty keys":       {"x-a:\n" + megabyte(emptyKeys), "p.yaml:1008:2: " + manyEmpty},
		"empty entries":    {"x-a:\n" + strings.Repeat("-\n", 200_000), "p.yaml:1003:1: " + manyEmpty},
		"empty in braces":  {"x-a: {" + megabyte(always("a:,\n")) + "}", "p.yaml:1001:3: " + manyEmpty},
		"bare in braces":   {"x-a: {" + strings.Repeat("a,\n", 200_000) + "}", "p.yaml:1001:2: " + manyEmpty},
		"comments between": {"x-a:\n" + megabyte(always("-\n # a\n")), "p.yaml:2004:1: " + manyEmpty},
		"a long key":       {"x-" + strings.Repeat("a", 599) + ": 1", "p.yaml:1:602: must have at most 600 bytes in the keys that lead to a value"},
		"long keys":        {strings.Repeat("a", 300) + ": {" + strings.Repeat("b", 301) + ": 1}", "p.yaml:1:605: must have at most 600 bytes in the keys that lead to a value"},
		"below a long key": {"x-" + strings.Repeat("a", 590) + ": [" + strings.Repeat(strings.Repeat("1,", 1000)+"\n", 250) + "]", ""},
		"keys in braces":   {"x-a: {\n" + megabyte(func(i int) string { return fmt.Sprintf(" a%d: 1,\n", i) }) + "}", ""},
		"many mappings":    {"x-a:\n" + megabyte(manyMappings), ""},
		"aliases": {
			"x-a: &a {name: a, limit: 1, window: 1s}\nlimits:\n" + strings.Repeat("- *a\n", 100_000),
			"p.yaml:1:26: limits[74999].limit: must have at most 300000 values, with aliases expanded",
		},
		"budgets of endpoints": {
			"budgets:\n" + megabyte(always("- {budget: 10}\n"))[:450_000] + "endpoints:\n" + megabyte(always("- cost: {estimate: 2}\n"))[:440_000],
			"p.yaml:1:1: budgets: must have at most 16 entries, got 30000\np.yaml:30002:1: endpoints: must have at most 1000 entries, got 20000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse("p.yaml", []byte(c.text))
			runtime.ReadMemStats(&after)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("want %s\ngot  %.300s", c.want, got)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("allocated %d MiB, want at most %d", took>>20, most>>20)
			}
		})
	}
}

const (
	manyKeys  = "must have at most 500 keys in a mapping without braces: write {key: value, ...} instead"
	manyEmpty = "must have at most 1000 keys and list entries without a value: remove them or write their values"
)

func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

// emptyKeys makes mappings of few keys.
func emptyKeys(i int) string {
	if i%200 == 0 {
		return fmt.Sprintf("x-%d:\n", i)
	}
	return " a:\n"
}

// manyMappings makes lists of the largest mappings that are allowed without braces.
func manyMappings(i int) string {
	if i%500 == 0 {
		return "- a: 1\n"
	}
	return "  a: 1\n"
}

func TestParse_manyProblemsAreCounted(t *testing.T) {
	_, err := Parse("p.yaml", []byte("overrides: {deny: ["+strings.Repeat("'',\n", 50_000)+"]}"))
	lines := strings.Split(err.Error(), "\n")
	if got, want := lines[len(lines)-1], "p.yaml:51:1: and 99899 more problems"; got != want || len(lines) != 101 {
		t.Errorf("%d lines, the last %q, want %q", len(lines), got, want)
	}
}

func TestParse_patternsAreBounded(t *testing.T) {
	endpoints := func(pattern func(i, j int) string) string {
		var b strings.Builder
		b.WriteString("endpoints:\n")
		for i := range 1000 {
			fmt.Fprintf(&b, "- name: e%d\n  match: [", i)
			for j := range 3 {
				fmt.Fprintf(&b, "%q, ", pattern(i, j))
			}
			b.WriteString("]\n")
		}
		b.WriteString("limits: [{name: minute, limit: 1, window: 1m}]\n")
		return b.String()
	}
	for name, c := range map[string]struct {
		pattern func(i, j int) string
		want    string // the last line
		count   int
	}{
		"many": {
			func(i, j int) string { return fmt.Sprintf("/{a}/{b}/e%d/%d", i, j) },
			"p.yaml:1335:49: endpoints[666].match[2]: exceeds the 2000 patterns of a policy: match several paths with a wildcard or a prefix", 1,
		},
		"each in conflict": {
			func(_, j int) string { return fmt.Sprintf("/{a}/%d", j) },
			"p.yaml:71:21: and 1898 more problems", 101,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("p.yaml", []byte(endpoints(c.pattern)))
			if err == nil {
				t.Fatal("no problem")
			}
			lines := strings.Split(err.Error(), "\n")
			if got := lines[len(lines)-1]; got != c.want || len(lines) != c.count {
				t.Errorf("%d problems, the last: %s\nwant %d: %s", len(lines), got, c.count, c.want)
			}
		})
	}
}
