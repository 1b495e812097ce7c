// Package steps_test has tables of steps for each function, and tests for the mistakes of other rate limiters.
package steps_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestMain(m *testing.M) { engines.Main(m) }

// step is one step of a table of library ratelimit.
type step = luatest.Step[*ratelimit.Client]

var (
	limiters   = suites.Limiters
	budgets    = suites.Budgets
	abusers    = suites.Abusers
	challenges = suites.Challenges
	semaphores = suites.Semaphores
	overrides  = suites.Overrides
)

// key is a key of a plain subject.
func key(subject, suffix string) string { return "rl:{" + subject + "}:" + suffix }

func TestContract_ratelimit(t *testing.T)   { luatest.Contract(t, suites.Limiters) }
func TestContract_cost(t *testing.T)        { luatest.Contract(t, suites.Budgets) }
func TestContract_abuse(t *testing.T)       { luatest.Contract(t, suites.Abusers) }
func TestContract_challenge(t *testing.T)   { luatest.Contract(t, suites.Challenges) }
func TestContract_concurrency(t *testing.T) { luatest.Contract(t, suites.Semaphores) }
func TestContract_override(t *testing.T)    { luatest.Contract(t, suites.Overrides) }
func TestContract_guard(t *testing.T)       { luatest.Contract(t, suites.Guards) }
