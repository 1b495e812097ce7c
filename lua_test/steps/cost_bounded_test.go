package steps_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// Work is what a call asks of Redis: commands, the arguments and elements that they carry, and the bytes of those that write, as a replica
// gets them.
type work struct{ commands, elements, bytes int }

func (w work) atMost(o work) work {
	return work{max(w.commands, o.commands), max(w.elements, o.elements), max(w.bytes, o.bytes)}
}

// counted makes the server count what each call of the library's functions asks of it, and returns the most of each since it was
// called before. The test's clock has to be set again.
func counted(t *testing.T, s *luatest.Server, library string) func() work {
	t.Helper()
	list, err := s.Redis.FunctionList(t.Context(), redis.FunctionListQuery{LibraryNamePattern: library, WithCode: true}).Result()
	if err != nil || len(list) != 1 {
		t.Fatalf("list %s: %v, %v", library, list, err)
	}
	head, body, _ := strings.Cut(list[0].Code, "\n")
	code := head + `
local commands, elements, bytes, most = 0, 0, 0, {0, 0, 0}
local writes = {SET = true, ZADD = true, PEXPIRE = true, ZREMRANGEBYRANK = true, UNLINK = true, DEL = true, HSET = true, HDEL = true}
local function counted(...)
  commands = commands + 1
  local found = redis.call(...)
  elements = elements + select('#', ...)
  if writes[...] then
    for _, arg in ipairs({...}) do
      bytes = bytes + #tostring(arg) + #tostring(#tostring(arg)) + 5
    end
  end
  if type(found) == 'table' then
    elements = elements + #found
  end
  return found
end
local function register(f)
  local callback = f.callback
  f.callback = function(keys, args)
    commands, elements, bytes = 0, 0, 0
    local reply = callback(keys, args)
    most = {math.max(most[1], commands), math.max(most[2], elements), math.max(most[3], bytes)}
    return reply
  end
  redis.register_function(f)
end
redis.register_function('` + library + `_work', function()
  local asked = most
  most = {0, 0, 0}
  return asked
end)
` + strings.NewReplacer("redis.call(", "counted(", "redis.register_function{", "register{").Replace(body)
	s.Do(t, "FUNCTION", "LOAD", "REPLACE", code)
	return func() work {
		asked, err := s.Redis.Do(t.Context(), "FCALL", library+"_work", 0).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		if s.Engine != "embedded" { // the test's clock stands in for TIME, which ships
			return work{int(asked[0]) + 1, int(asked[1]) + 3, int(asked[2])}
		}
		return work{int(asked[0]), int(asked[1]), int(asked[2])}
	}
}

// No call's work grows with the charges: with 100,000 the dearest is at most twice what it is with 10.
func TestCost_workIsBounded(t *testing.T) {
	suites.Budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		many := 100_000
		if suites.Slow || testing.Short() || s.Engine != "embedded" { // the same Lua asks for the same everywhere
			many = 300
		}
		asked := counted(t, s, budget.Library.ServerName)
		few, lot := costWork(t, s, c, asked, 10), costWork(t, s, c, asked, many)
		for name, most := range lot {
			t.Logf("%-45s %3d and %3d with 10, %3d and %3d with %d", name, few[name].commands, few[name].elements, most.commands, most.elements, many)
			if most.commands > 2*few[name].commands {
				t.Errorf("%s: %d commands with %d charges, %d with 10", name, most.commands, many, few[name].commands)
			}
		}
	})
}

// costWork is the dearest work of each kind of call on a bucket of charges of 10 micros, a millisecond apart, two of
// three with an open hold.
func costWork(t *testing.T, s *luatest.Server, c *budget.Client, asked func() work, charges int) map[string]work {
	t.Helper()
	s.Do(t, "FLUSHDB")
	s.Set(t, luatest.Start)
	dearest := map[string]work{}
	do := func(name string, call func(context.Context, *budget.Client) (any, error)) {
		t.Helper()
		if _, err := call(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	measure := func(name string, call func(context.Context, *budget.Client) (any, error)) {
		t.Helper()
		asked()
		do(name, call)
		dearest[name] = dearest[name].atMost(asked())
	}
	full := fcall.Micros(10 * charges)
	limits := budget.MustPackAccountBudget(budget.AccountBudget{Budget: 2 * full, Window: 2 * time.Hour})
	next := 0
	add := func(name string, call func(string, func(context.Context, *budget.Client) (any, error))) {
		t.Helper()
		s.Advance(t, time.Millisecond)
		p := reserve(fmt.Sprint("r", next), 10, limits)
		if p.Hold = time.Hour; next%3 == 0 {
			p.Hold = 0
		}
		call(name, reserves(p))
		next++
	}
	asked()
	for next < charges {
		add("reserve, while it fills up", do)
	}
	dearest["reserve, while it fills up"] = asked()
	for range min(charges, 10_000) { // as many as there are, 10,000 at most
		add("reserve allowed", measure)
		if next%2 == 0 {
			measure("settle", settles(fmt.Sprint("r", next-charges), 7))
		}
	}
	all := next
	measure("reserve duplicate", reserves(reserve(fmt.Sprint("r", all-1), 10, limits)))
	for part := range fcall.Micros(20) {
		spent := budget.MustPackAccountBudget(budget.AccountBudget{Budget: full, Window: 2 * time.Hour})
		measure("reserve refused", reserves(reserve("x", full*(part+1)/20, spent)))
		measure("peek", peeks("x", full*(part+1)/20, budget.AccountBudget{Budget: full, Window: 2 * time.Hour}))
		window := time.Duration(all) * time.Millisecond * time.Duration(part+1) / 20
		start := luatest.Start.Add(window / 2)
		measure("peek in a new period", peeks("x", 1, budget.AccountBudget{Budget: full, Previous: start.Add(-time.Hour), Start: start, Window: time.Hour, After: start.Add(3 * time.Hour)}))
		measure("peek in a new window", peeks("x", 1, budget.AccountBudget{Budget: full, Window: window + 17*time.Microsecond}))
	}
	held := reserve("new hold", 1, limits)
	held.Hold = 30 * time.Minute
	measure("reserve with a new hold", reserves(held))
	measure("settle the oldest", settles("r1", 3))
	measure("cancel an old one", cancels("r2"))
	s.Advance(t, time.Hour-time.Duration(all)*time.Millisecond/3)
	measure("peek where half of all holds have ended", peeks("x", full, budget.AccountBudget{Budget: full, Window: 2 * time.Hour}))
	measure("settle where half of all holds have ended", settles(fmt.Sprint("r", all-1), 1))
	s.Advance(t, 50*time.Minute)
	measure("reserve where all holds have ended", reserves(reserve("y", 1, limits)))
	s.Advance(t, 10*time.Minute-time.Duration(all)*time.Millisecond/3)
	measure("reserve where half has left the window", reserves(reserve("z", 1, limits)))
	s.Advance(t, 2*time.Hour)
	measure("reserve after a long idle", reserves(reserve("a", 1, limits)))
	s.Advance(t, time.Hour)
	for i := range 20 {
		measure("reserve while it forgets", reserves(reserve(fmt.Sprint("f", i), 1, limits)))
	}
	measure("reset", luatest.Call((*budget.Client).Reset, budget.ResetParams{Subject: "u1"}))
	return dearest
}
