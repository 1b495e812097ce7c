package templates_test

import (
	"os"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"example.com/templates/gen/quota"
)

// suite runs on the embedded engine, and on the empty database at REDIS_URL if that is set.
var suite = luatest.Suite[*quota.Client]{
	Library: quota.Library, Client: quota.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestQuota_keepsItsContract(t *testing.T) { luatest.Contract(t, suite) }

type step = luatest.Step[*quota.Client]

// TestTake runs a step table on a manual clock. A step without Writes must change no key, and every key must expire.
func TestTake(t *testing.T) {
	const period = time.Minute
	call := func(cost int64) quota.TakeParams {
		return quota.TakeParams{Subject: "user42", Limit: 10, Period: period, Cost: &cost}
	}
	take := (*quota.Client).Take
	suite.Run(t,
		step{Name: "first use", Call: luatest.Call(take, call(1)), Writes: true, Want: quota.TakeResult{Allowed: true, Remaining: 9}},
		step{Name: "exactly the limit", Call: luatest.Call(take, call(9)), Writes: true, Want: quota.TakeResult{Allowed: true}},
		step{Name: "one more", Call: luatest.Call(take, call(1)), Want: quota.TakeResult{RetryAfter: period}},
		step{Name: "cost 0 charges nothing", Call: luatest.Call(take, call(0)), Want: quota.TakeResult{Allowed: true}},
		step{
			Name: "a millisecond before the end", Advance: period - time.Millisecond,
			Call: luatest.Call(take, call(1)), Want: quota.TakeResult{RetryAfter: time.Millisecond},
		},
		step{
			Name: "the next period", Advance: 2 * time.Millisecond,
			Call: luatest.Call(take, call(4)), Writes: true, Want: quota.TakeResult{Allowed: true, Remaining: 6},
		},
		step{Name: "more than the limit", Call: luatest.Call(take, call(11)), WantErr: fcall.ErrArgument},
	)
}

func TestTake_boundsAndWrongClocks(t *testing.T) {
	const years, longest, key = 10 * 365 * 24 * time.Hour, 366 * 24 * time.Hour, "quota:{user42}:used"
	most := quota.TakeParams{Subject: "user42", Limit: 1_000_000, Period: longest, Cost: new(int64(1_000_000))}
	all := luatest.Call((*quota.Client).Take, quota.TakeParams{Subject: "user42", Limit: 1, Period: time.Minute})
	suite.Run(
		t,
		step{
			Name: "largest legal arguments", Call: luatest.Call((*quota.Client).Take, most), Writes: true, Want: quota.TakeResult{Allowed: true},
			TTLs: map[string]time.Duration{key: longest},
		},
		step{Name: "one more", Call: luatest.Call((*quota.Client).Take, most), Want: quota.TakeResult{RetryAfter: longest}},
		step{Name: "a clock years ahead", Advance: years, Call: all, Writes: true, Want: quota.TakeResult{Allowed: true}},
		step{
			Name: "and right again: the period is over", Advance: -years, Call: all, Writes: true, Want: quota.TakeResult{Allowed: true},
			TTLs: map[string]time.Duration{key: time.Minute},
		},
		step{Name: "set back within the period", Advance: -30 * time.Second, Call: all, Want: quota.TakeResult{RetryAfter: 90 * time.Second}},
		step{Name: "a clock years back", Advance: -years, Call: all, Writes: true, Want: quota.TakeResult{Allowed: true}},
		step{
			Name: "another program's key", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", key, "7", "KEEPTTL") },
			Call: all, WantErr: fcall.ErrState,
		},
	)
}
