// Package suites has the suites of this project's libraries, and calls with rows that are not packed yet, for the tests of each kind.
package suites

import (
	"testing"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// A suite for each library that stands alone; that of guard is Guards.
var (
	Limiters   = suiteOf(ratelimit.Library, ratelimit.New)
	Budgets    = suiteOf(cost.Library, cost.New)
	Abusers    = suiteOf(abuse.Library, abuse.New)
	Challenges = suiteOf(challenge.Library, challenge.New)
	Semaphores = suiteOf(concurrency.Library, concurrency.New)
	Overrides  = suiteOf(override.Library, override.New)
)

func suiteOf[C any](library *fcall.Library, client func(fcall.Caller, fcall.Options) (C, error)) luatest.Suite[C] {
	return luatest.Suite[C]{
		Library: library, Client: client, Source: functions.FS, Root: functions.Root, Engines: Everywhere, Scripts: Somewhere, Parallel: true,
	}
}

// Everywhere returns every engine that can be reached.
func Everywhere(t testing.TB) []luatest.Engine { return of(engines.All(t)) }

// AtEnds returns the embedded engine, the oldest and the newest ones.
func AtEnds(t testing.TB) []luatest.Engine { return of(engines.Ends(t)) }

func of(all []engines.Engine) []luatest.Engine {
	var out []luatest.Engine
	for _, e := range all {
		out = append(out, luatest.Engine{Name: e.Name, Client: e.Client, Embedded: e.Embedded, Clock: e.Clock})
	}
	return out
}

// Somewhere returns the embedded engine and one real one, where the tables run as scripts too: on all of them that would take twice the time.
func Somewhere(t testing.TB) (some []luatest.Engine) {
	withReal := false
	for _, e := range Everywhere(t) {
		if e.Embedded == nil {
			if withReal {
				continue
			}
			withReal = true
		}
		e.Name += "-scripts"
		some = append(some, e)
	}
	return some
}
