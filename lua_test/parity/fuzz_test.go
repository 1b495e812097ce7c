package parity_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/internal/engines"
)

var (
	fuzzFor  = flag.Duration("fuzzfor", 0, "how long TestFuzz looks for differences; make fuzz sets it")
	fuzzSeed = flag.Uint64("fuzzseed", 0, "the seed of TestFuzz; 0 chooses one")
	fuzzCase = flag.Uint64("fuzzcase", 0, "the first case of the seed")
)

// found keeps the cases in which no real server answered as the embedded engine. The parity test replays it.
const found = "testdata/found.txt"

// TestFuzz_someRealServerAnswersAsTheEmbeddedEngine makes commands and programs, and compares their answers. An answer that no real server gives is
// a difference: its case is made short, printed, and added to the file of found cases. A seed always makes the same cases.
func TestFuzz_someRealServerAnswersAsTheEmbeddedEngine(t *testing.T) {
	if *fuzzFor == 0 {
		t.Skip("SKIPPED: -fuzzfor says how long to look for differences; the cases found are replayed by TestParity")
	}
	players := connect(t)
	if len(players) < 2 {
		t.Skip("SKIPPED: it takes the embedded engine and a real one")
	}
	seed := *fuzzSeed
	for seed == 0 {
		seed = rand.Uint64() >> 32
	}
	names := slices.Sorted(maps.Keys(grammar))
	seen := map[string]int{}
	cases, steps := uint64(0), 0
	for begin, n := time.Now(), *fuzzCase; time.Since(begin) < *fuzzFor; n++ {
		c := newCase(rand.New(rand.NewPCG(seed, n)), names)
		cases, steps = cases+1, steps+len(c.steps)
		if at := play(t, players, c); at >= 0 {
			c = shrink(c, func(c trial) bool { return play(t, players, c) >= 0 })
			report(t, players, c, seen, fmt.Sprintf("seed %d, case %d", seed, n))
		}
	}
	t.Logf("fuzz: seed %d, %d cases of %d steps on %d real engines; differences by what they are: %v", seed, cases, steps, len(players)-1, seen)
}

// A player is one engine's connection. The first is the embedded engine's.
type player struct {
	version string
	w       *wire
}

func connect(t *testing.T) (all []player) {
	t.Helper()
	for _, e := range engines.All(t) {
		if !e.Real || len(all) > 0 {
			all = append(all, player{e.Version, dialWire(t, e.Client(t))})
		}
	}
	return all
}

// A trial is a sequence of steps on an empty server.
type trial struct {
	protocol string
	steps    []fuzzStep
}

// A fuzzStep is a command, or the expressions of a program.
type fuzzStep struct {
	args  []string
	exprs []*expr
}

func newCase(r *rand.Rand, names []string) trial {
	c := trial{protocol: pick(r, "2", "3")}
	if r.IntN(3) == 0 { // a program, with a little data
		c.steps = append(c.steps, fuzzStep{args: []string{"set", "k1", argument(r, "V", "set")}}, fuzzStep{args: []string{"rpush", "k2", "a", argument(r, "V", "rpush")}})
		s := fuzzStep{}
		for range 12 {
			s.exprs = append(s.exprs, newExpr(r, 'v', 3))
		}
		c.steps = append(c.steps, s)
		return c
	}
	// Few commands a case, so that they meet one another's keys.
	few := make([]string, 5)
	for i := range few {
		few[i] = pick(r, names...)
	}
	multi := false
	for range 15 {
		args := call(r, pick(r, few...))
		switch args[0] {
		case "multi":
			multi = true
		case "exec", "discard":
			multi = false
		}
		c.steps = append(c.steps, fuzzStep{args: args})
	}
	if multi {
		c.steps = append(c.steps, fuzzStep{args: []string{"exec"}})
	}
	return c
}

// snippet is the step as the files of the parity test have it.
func (s fuzzStep) snippet() snippet {
	if s.exprs != nil {
		return snippet{kind: '@', lines: []string{"@ " + strings.ReplaceAll(program(s.exprs), "\n", " ")}}
	}
	kind := byte('>')
	if slices.Contains(unordered, s.args[0]) {
		kind = '~'
	}
	words := make([]string, len(s.args))
	for i, a := range s.args {
		if words[i] = a; a == "" || strings.Trim(strconv.Quote(a), `"`) != a || strings.Contains(a, " ") {
			words[i] = strconv.Quote(a)
		}
	}
	return snippet{kind: kind, lines: []string{string(kind) + " " + strings.Join(words, " ")}}
}

// play runs the case on all engines and returns the first step that no real one answers as the embedded engine, or -1. A known difference
// ends the case, because what follows may differ as well.
func play(t *testing.T, players []player, c trial) int {
	t.Helper()
	answers := make([][]string, len(players))
	for i, p := range players {
		clean(t, p.w, c.protocol)
		for _, s := range c.steps {
			answer, err := s.snippet().run(p.w)
			if err != nil {
				t.Fatalf("the connection to %s is lost: %v\n%s", p.version, err, c)
			}
			answers[i] = append(answers[i], essence(s, answer))
		}
	}
	for i, s := range c.steps {
		same := false
		for p := 1; p < len(players); p++ {
			if same = same || sameButWording(answers[0][i], answers[p][i], players[p].version, map[string]bool{}); known(t, s.snippet(), players[p].version) {
				return -1
			}
		}
		if !same {
			return i
		}
	}
	return -1
}

// essence is the part of an answer that servers must agree on.
func essence(s fuzzStep, answer string) string {
	switch {
	case s.exprs == nil && slices.Contains(loose, s.args[0]):
		return answer[:1]
	case s.exprs != nil && strings.HasPrefix(answer, "load: -"):
		return "load: -" // the sentences of syntax errors differ
	case s.exprs != nil:
		return signs.ReplaceAllString(answer, "$1")
	}
	return answer
}

// signs are those that follow from a negative zero, which gopher-lua makes a positive one.
var signs = regexp.MustCompile(`-(0|inf|nan)\b`)

func (c trial) String() string {
	var b strings.Builder
	for _, s := range c.steps {
		b.WriteString(s.snippet().lines[0] + "\n")
	}
	return b.String()
}

// report prints a difference and keeps its case, unless one of its kind has been found before.
func report(t *testing.T, players []player, c trial, seen map[string]int, where string) {
	t.Helper()
	at := play(t, players, c)
	if at < 0 {
		t.Errorf("%s: differs only now and then", where)
		return
	}
	s := c.steps[at]
	kind := ""
	if s.exprs != nil {
		kind = s.exprs[0].form
	} else {
		kind = s.args[0]
	}
	if seen[kind]++; seen[kind] > 2 {
		return
	}
	var b strings.Builder
	for i, p := range players {
		if i == 0 {
			b.WriteString("  ")
		}
		clean(t, p.w, c.protocol)
		answer := ""
		for _, s := range c.steps[:at+1] {
			answer, _ = s.snippet().run(p.w) // it could be run before
		}
		fmt.Fprintf(&b, "  %s: %s\n", p.version, answer)
	}
	t.Errorf("%s, in RESP%s:\n%s%s", where, c.protocol, strings.ReplaceAll(c.String(), show, "..."), b.String())
	f, err := os.OpenFile(found, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "\n%s", c); err != nil {
		t.Fatal(err)
	}
}

// shrink returns the smallest case that it can find for which differs holds.
func shrink(c trial, differs func(trial) bool) trial {
	for changed := true; changed; {
		changed = false
		for smaller := range c.smaller {
			if differs(smaller) {
				c, changed = smaller, true
				break
			}
		}
	}
	return c
}

// smaller yields the cases that lack a step, an argument or a part of an expression.
func (c trial) smaller(yield func(trial) bool) {
	for i := len(c.steps) - 1; i >= 0; i-- {
		if !yield(c.with(slices.Delete(slices.Clone(c.steps), i, i+1))) {
			return
		}
	}
	for i, s := range c.steps {
		for step := range s.smaller {
			steps := slices.Clone(c.steps)
			steps[i] = step
			if !yield(c.with(steps)) {
				return
			}
		}
	}
}

func (c trial) with(steps []fuzzStep) trial { return trial{c.protocol, steps} }

func (s fuzzStep) smaller(yield func(fuzzStep) bool) {
	for i := len(s.args) - 1; i > 0; i-- {
		if !yield(fuzzStep{args: slices.Delete(slices.Clone(s.args), i, i+1)}) {
			return
		}
	}
	if len(s.exprs) > 1 {
		for i := range s.exprs {
			if !yield(fuzzStep{exprs: []*expr{s.exprs[i]}}) {
				return
			}
		}
		return
	}
	for i, e := range s.exprs {
		for smaller := range e.smaller {
			exprs := slices.Clone(s.exprs)
			exprs[i] = smaller
			if !yield(fuzzStep{exprs: exprs}) {
				return
			}
		}
	}
}

// smaller yields each part of the expression, and the expression with a smaller or a simple part.
func (e *expr) smaller(yield func(*expr) bool) {
	for _, p := range e.parts {
		if !yield(p) {
			return
		}
	}
	for i, p := range e.parts {
		for _, simple := range []string{"1", "'a'", "{}"} {
			if len(p.parts) > 0 && !yield(e.with(i, &expr{form: simple})) {
				return
			}
		}
		for smaller := range p.smaller {
			if !yield(e.with(i, smaller)) {
				return
			}
		}
	}
}

func (e *expr) with(i int, part *expr) *expr {
	parts := slices.Clone(e.parts)
	parts[i] = part
	return &expr{e.form, parts}
}
