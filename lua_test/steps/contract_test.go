package steps_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/lua_test/internal/suites"

	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestContract_ratelimit(t *testing.T)   { luatest.Contract(t, suites.Limiters) }
func TestContract_cost(t *testing.T)        { luatest.Contract(t, suites.Budgets) }
func TestContract_abuse(t *testing.T)       { luatest.Contract(t, suites.Abusers) }
func TestContract_challenge(t *testing.T)   { luatest.Contract(t, suites.Challenges) }
func TestContract_concurrency(t *testing.T) { luatest.Contract(t, suites.Semaphores) }
func TestContract_override(t *testing.T)    { luatest.Contract(t, suites.Overrides) }
func TestContract_guard(t *testing.T)       { luatest.Contract(t, suites.Guards) }
