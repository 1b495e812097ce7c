// Package suites has the suites of this project's libraries, and calls with rows that are not packed yet, for the tests of each kind.
package suites

import (
	"errors"
	"testing"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
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
		Library: library, Client: client, Source: functions.FS, Root: functions.Root, Engines: Everywhere, Parallel: true,
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

// AttemptCounts are the rows of a status with these counts.
func AttemptCounts(n ...int64) []abuse.StatusTiersResult {
	rows := []abuse.StatusTiersResult{}
	for _, c := range n {
		rows = append(rows, abuse.StatusTiersResult{Count: c})
	}
	return rows
}

// Guarded are the clients that act on the state of one subject that guard protects.
type Guarded struct {
	Guard      *guard.Client
	Cost       *cost.Client
	Abuse      *abuse.Client
	Challenges *challenge.Client
}

// Guards is the suite of library guard, with the libraries whose keys it shares.
var Guards = luatest.Suite[Guarded]{
	Library:        guard.Library,
	ExtraLibraries: []*fcall.Library{cost.Library, abuse.Library, challenge.Library},
	Client:         newGuarded,
	Source:         functions.FS,
	Root:           functions.Root,
	Engines:        Everywhere,
	Parallel:       true,
}

func newGuarded(server fcall.Caller, o fcall.Options) (g Guarded, err error) {
	var errs [4]error
	g.Guard, errs[0] = guard.New(server, o)
	g.Cost, errs[1] = cost.New(server, o)
	g.Abuse, errs[2] = abuse.New(server, o)
	g.Challenges, errs[3] = challenge.New(server, o)
	return g, errors.Join(errs[:]...)
}

// GuardOf, CostOf, AbuseOf and ChallengesOf return one of the clients.
func GuardOf(g Guarded) *guard.Client          { return g.Guard }
func CostOf(g Guarded) *cost.Client            { return g.Cost }
func AbuseOf(g Guarded) *abuse.Client          { return g.Abuse }
func ChallengesOf(g Guarded) *challenge.Client { return g.Challenges }
