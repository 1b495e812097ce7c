package templates_test

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"example.com/templates/gen/idempotency"
)

var idempotencySuite = luatest.Suite[*idempotency.Client]{
	Library: idempotency.Library, Client: idempotency.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestIdempotency_keepsItsContract(t *testing.T) { luatest.Contract(t, idempotencySuite) }

type idempotencyStep = luatest.Step[*idempotency.Client]

func beginWork(token string) idempotency.BeginParams {
	return idempotency.BeginParams{Subject: "client7/3f2a", Token: token, Fingerprint: "a1", Lease: time.Minute}
}

func TestIdempotency_workIsDoneOnce(t *testing.T) {
	begin, finish, abandon := (*idempotency.Client).Begin, (*idempotency.Client).Finish, (*idempotency.Client).Abandon
	started := idempotency.BeginResult{Outcome: idempotency.BeginOutcomeStarted}
	finished := idempotency.BeginResult{Outcome: idempotency.BeginOutcomeFinished, Reply: "201\r\n\x00"}
	other := beginWork("t2")
	other.Fingerprint = "b2"
	done := func(token, reply string) idempotency.FinishParams {
		return idempotency.FinishParams{Subject: "client7/3f2a", Token: token, Reply: reply}
	}
	idempotencySuite.Run(
		t,
		idempotencyStep{Name: "nothing to finish", Call: luatest.Call(finish, done("t1", "x")), Want: idempotency.FinishResult{}},
		idempotencyStep{Name: "first use", Call: luatest.Call(begin, beginWork("t1")), Writes: true, Want: started},
		idempotencyStep{Name: "another caller", Advance: time.Second, Call: luatest.Call(begin, beginWork("t2")), Want: idempotency.BeginResult{Outcome: idempotency.BeginOutcomeInProgress, RetryAfter: 59 * time.Second}},
		idempotencyStep{Name: "another request", Call: luatest.Call(begin, other), Want: idempotency.BeginResult{Outcome: idempotency.BeginOutcomeMismatch}},
		idempotencyStep{Name: "the same attempt", Call: luatest.Call(begin, beginWork("t1")), Writes: true, Want: started},
		idempotencyStep{Name: "not another's to give up", Call: luatest.Call(abandon, idempotency.AbandonParams{Subject: "client7/3f2a", Token: "t2"}), Want: idempotency.AbandonResult{}},
		idempotencyStep{Name: "given up", Call: luatest.Call(abandon, idempotency.AbandonParams{Subject: "client7/3f2a", Token: "t1"}), Writes: true, Want: idempotency.AbandonResult{Abandoned: true}},
		idempotencyStep{Name: "begun again", Call: luatest.Call(begin, beginWork("t2")), Writes: true, Want: started},
		idempotencyStep{Name: "the worker crashed: its lease ends", Advance: time.Minute + 2*time.Millisecond, Call: luatest.Call(begin, beginWork("t3")), Writes: true, Want: started},
		idempotencyStep{Name: "too late to finish", Call: luatest.Call(finish, done("t2", "x")), Want: idempotency.FinishResult{}},
		idempotencyStep{
			Name: "finished", Call: luatest.Call(finish, done("t3", finished.Reply)), Writes: true, Want: idempotency.FinishResult{Finished: true},
			TTLs: map[string]time.Duration{"idempotency:{client7/3f2a}:record": 24 * time.Hour},
		},
		idempotencyStep{Name: "finished once", Call: luatest.Call(finish, done("t3", "other")), Want: idempotency.FinishResult{Finished: true}},
		idempotencyStep{Name: "the reply", Call: luatest.Call(begin, beginWork("t4")), Want: finished},
		idempotencyStep{Name: "finished work is not given up", Call: luatest.Call(abandon, idempotency.AbandonParams{Subject: "client7/3f2a", Token: "t3"}), Want: idempotency.AbandonResult{}},
		idempotencyStep{Name: "a day later", Advance: 24*time.Hour + 2*time.Millisecond, Call: luatest.Call(begin, beginWork("t5")), Writes: true, Want: started},
		idempotencyStep{Name: "no token", Call: luatest.Call(begin, beginWork("")), WantErr: fcall.ErrArgument},
	)
}

func TestIdempotency_boundsAndWrongClocks(t *testing.T) {
	const years, key = 10 * 365 * 24 * time.Hour, "idempotency:{client7/3f2a}:record"
	begin, finish := (*idempotency.Client).Begin, (*idempotency.Client).Finish
	started := idempotency.BeginResult{Outcome: idempotency.BeginOutcomeStarted}
	longest, reply := strings.Repeat("t", 64), strings.Repeat("\x00", 65536)
	most := idempotency.BeginParams{Subject: "client7/3f2a", Token: longest, Fingerprint: longest, Lease: 24 * time.Hour}
	done := func(token string) idempotency.FinishParams {
		return idempotency.FinishParams{Subject: "client7/3f2a", Token: token, Reply: "done"}
	}
	idempotencySuite.Run(
		t,
		idempotencyStep{Name: "largest legal arguments", Call: luatest.Call(begin, most), Writes: true, Want: started, TTLs: map[string]time.Duration{key: 24 * time.Hour}},
		idempotencyStep{
			Name: "the longest reply", Call: luatest.Call(finish, idempotency.FinishParams{Subject: "client7/3f2a", Token: longest, Reply: reply, Keep: 30 * 24 * time.Hour}),
			Writes: true, Want: idempotency.FinishResult{Finished: true}, TTLs: map[string]time.Duration{key: 30 * 24 * time.Hour},
		},
		idempotencyStep{Name: "comes back", Call: luatest.Call(begin, most), Want: idempotency.BeginResult{Outcome: idempotency.BeginOutcomeFinished, Reply: reply}},
		idempotencyStep{Name: "a clock years ahead", Advance: years, Call: luatest.Call(begin, beginWork("t1")), Writes: true, Want: started},
		idempotencyStep{
			Name: "and right again: the lease is over", Advance: -years, Call: luatest.Call(begin, beginWork("t2")), Writes: true, Want: started,
			TTLs: map[string]time.Duration{key: time.Minute},
		},
		idempotencyStep{Name: "its work is not finished", Call: luatest.Call(finish, done("t1")), Want: idempotency.FinishResult{}},
		idempotencyStep{Name: "begun years ahead", Advance: years, Call: luatest.Call(begin, beginWork("t3")), Writes: true, Want: started},
		idempotencyStep{
			Name: "and finished by the right clock", Advance: -years, Call: luatest.Call(finish, done("t3")), Writes: true, Want: idempotency.FinishResult{Finished: true},
			TTLs: map[string]time.Duration{key: 24 * time.Hour},
		},
		idempotencyStep{Name: "the reply", Call: luatest.Call(begin, beginWork("t4")), Want: idempotency.BeginResult{Outcome: idempotency.BeginOutcomeFinished, Reply: "done"}},
		idempotencyStep{Name: "a clock years back", Advance: -years, Call: luatest.Call(begin, beginWork("t5")), Writes: true, Want: started},
		idempotencyStep{
			Name: "set back within the lease", Advance: -30 * time.Second, Call: luatest.Call(begin, beginWork("t6")),
			Want: idempotency.BeginResult{Outcome: idempotency.BeginOutcomeInProgress, RetryAfter: 90 * time.Second},
		},
	)
}

func TestIdempotency_oneOfManyBegins(t *testing.T) {
	idempotencySuite.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, client *idempotency.Client) {
		var workers atomic.Int64
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				got, err := client.Begin(t.Context(), beginWork(fcall.NewToken()))
				if err != nil {
					t.Error(err)
				} else if got.Outcome == idempotency.BeginOutcomeStarted {
					workers.Add(1)
				}
			})
		}
		wait.Wait()
		if workers.Load() != 1 {
			t.Errorf("%d workers of one request", workers.Load())
		}
	})
}
