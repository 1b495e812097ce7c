package property_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// families is every function that has a model. A new one is a line here; see the package's documentation.
var families = []interface {
	properties(t *testing.T, much amount)
	linearizable(t *testing.T, much amount)
}{
	slidingLogFamily,
	slidingCounterFamily,
	fixedWindowFamily,
	quotaFamily,
	gcraFamily,
	checkFamily,
	costFamily,
	abuseFamily,
	challengeFamily,
	concurrencyFamily,
	overrideFamily,
	guardFamily,
}

// largest is the largest limit, burst, cost and weight.
const largest = 1_000_000_000_000

// shortHistories is the number of histories of a family without RLFUNC_SOAK. Real servers play half of them.
const shortHistories = 400

// TestProperty_modelAndEngineAgree draws histories of calls and moves of the clock, and holds every engine against the
// model: each field of each reply, each key's presence and expiry, every byte where nothing may change. The short version draws the
// same histories every time, so that a failure comes from the change under test, unless -rapid.seed says otherwise. RLFUNC_SOAK draws
// others, and more: a number of histories for each family on each engine, or how long all of it may take, about.
func TestProperty_modelAndEngineAgree(t *testing.T) {
	much := soak(t)
	if seed := flag.Lookup("rapid.seed"); much == (amount{}) && seed != nil && seed.Value.String() == "0" {
		flagOf(t, "rapid.seed", 1)
	}
	for _, f := range families {
		f.properties(t, much)
	}
}

func (f family[C, M]) properties(t *testing.T, much amount) {
	t.Run(f.name, func(t *testing.T) { f.propertiesOnEach(t, much) })
}

// each runs it on the embedded engine, the oldest and the newest servers: on those between, the tables of steps run.
func (f family[C, M]) each(t *testing.T, run func(*testing.T, *luatest.Server, C)) {
	suite := f.suite
	suite.Engines = suites.AtEnds
	suite.Each(t, run)
}

func (f family[C, M]) propertiesOnEach(t *testing.T, much amount) {
	share := max(f.share, 1)
	flagOf(t, "rapid.checks", max(much.batch()/share, 1))
	var drawn []history[C, M] // all engines play the same ones
	if much == (amount{}) {
		rapid.Check(t, func(rt *rapid.T) { drawn = append(drawn, f.history(rt)) })
	}
	f.each(t, func(t *testing.T, s *luatest.Server, client C) {
		p := player[C, M]{family: f, server: s, client: client}
		histories, calls := 0, tally{}
		count := func(h history[C, M]) {
			histories++
			for _, e := range h.events {
				calls[e.call.function]++
			}
		}
		drawAndPlay := func(rt *rapid.T) {
			h := f.history(rt)
			if problem := p.play(t, h); problem != "" {
				rt.Fatal(problem)
			}
			count(h)
		}
		for i, h := range drawn {
			if s.Engine != "embedded" && i >= max(len(drawn)/2, 1) { // a real server takes a round trip for each
				break
			}
			if problem := p.play(t, h); problem != "" {
				rapid.Check(t, drawAndPlay) // finds it again, and shortens it
				t.Fatalf("history %d failed, and passed when it was played again:\n%s", i+1, problem)
			}
			count(h)
		}
		for began := time.Now(); much != (amount{}) && !much.done(histories, time.Since(began)); {
			rapid.Check(t, drawAndPlay)
		}
		report(t, "property:   %-15s %-10s %8d histories, %9d calls agree with the model: %s", f.name, s.Engine, histories, calls.sum(), calls)
	})
}

// An amount is how much is tried: of histories, or of time for one family on one engine.
type amount struct {
	histories int
	time      time.Duration
}

// soak reads RLFUNC_SOAK. The zero amount is the short version.
func soak(t *testing.T) amount {
	t.Helper()
	text := os.Getenv("RLFUNC_SOAK")
	if text == "" {
		return amount{}
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return amount{histories: n}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("RLFUNC_SOAK is %q; it must be a number of histories or a duration", text)
	}
	const tests = 2 // this one and TestLinearizable
	return amount{time: d / time.Duration(tests*len(families)*len(suites.AtEnds(t)))}
}

// batch is the number of histories that rapid draws at once.
func (a amount) batch() int {
	switch {
	case a.time > 0:
		return 100
	case a.histories > 0:
		return min(a.histories, 1000)
	case suites.Slow:
		return shortHistories / 10
	case testing.Short():
		return shortHistories / 2
	}
	return shortHistories
}

// done reports whether a soak has tried enough.
func (a amount) done(histories int, took time.Duration) bool {
	if a.time > 0 {
		return took >= a.time
	}
	return histories >= a.histories
}

// A tally counts calls by function.
type tally map[string]int

func (y tally) sum() (calls int) {
	for _, n := range y {
		calls += n
	}
	return calls
}

func (y tally) String() string {
	var texts []string
	for _, function := range slices.Sorted(maps.Keys(y)) {
		texts = append(texts, fmt.Sprintf("%s %d", function, y[function]))
	}
	return strings.Join(texts, ", ")
}

// report says how much was checked: to the test's log, and of a soak to the terminal as well.
func report(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	if os.Getenv("RLFUNC_SOAK") != "" {
		fmt.Printf(format+"\n", args...)
	}
}

// flagOf sets a flag of package rapid, which has no other settings.
func flagOf(t *testing.T, name string, n int) {
	t.Helper()
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
}
