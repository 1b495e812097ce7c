package guard_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// answers makes the server answer every FCALL with an error.
type answers struct{ err error }

func (a answers) DialHook(next redis.DialHook) redis.DialHook { return next }
func (a answers) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.SetErr(a.err)
		return a.err
	}
}

func (a answers) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			cmd.SetErr(a.err)
		}
		return a.err
	}
}

// replied is an error reply of a server.
type replied string

func (r replied) Error() string { return string(r) }
func (replied) RedisError()     {}

// A server that returns an error is not lost: failure modes apply, and the breaker stays closed.
func TestDecide_serverErrorsApplyFailureModesAndOpenNoBreaker(t *testing.T) {
	for _, reply := range []replied{
		"OOM command not allowed when used memory > 'maxmemory'.", "NOPERM this user has no permissions to run the 'fcall' command",
		"ERR user_function:1: attempt to index a nil value script: guard_v1_admit, on @user_function:1.",
	} {
		for contract, limit := range contracts() {
			rdb, _ := inProcess(t)
			rdb.AddHook(answers{reply})
			opened := false
			g := newGuard(t, rdb, chat(limit), guard.Options{BreakAfter: 1, Observers: on(func(guard.BreakerChanged) { opened = true })})
			for range 3 {
				d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
				if contract == "closed" {
					if !errors.Is(err, guard.ErrUnavailable) {
						t.Errorf("%s, %s: %v", reply, contract, err)
					}
				} else if err != nil || !d.Allowed || d.Fallback != guard.Fallback(contract) {
					t.Errorf("%s, %s: %+v, %v", reply, contract, d, err)
				}
			}
			if opened {
				t.Errorf("%s, %s: the breaker opened", reply, contract)
			}
		}
	}
}

// The share is an even part if the number of processes is known and the part is larger.
func TestDecide_localShareIsEvenIfProcessesAreKnown(t *testing.T) {
	for processes, want := range map[int]int{0: 2, 1: 8, 2: 4, 100: 2} {
		g := newGuard(t, client(t, closedPort(t)), chat(policy.Limit{Name: "minute", Limit: 8, Window: time.Minute}), guard.Options{
			Processes: func() int { return processes },
		})
		allowed := 0
		for range 9 {
			if decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}).Allowed {
				allowed++
			}
		}
		if allowed != want {
			t.Errorf("of %d processes one admits %d of 8, want %d", processes, allowed, want)
		}
	}
}

func TestDecide_appliesFailureModesAboveMaxInFlight(t *testing.T) {
	t.Parallel()
	rdb, _ := inProcess(t)
	load(t, rdb)
	late := underway{slow{make(chan struct{})}, make(chan struct{}, 2)}
	rdb.AddHook(late)
	p := chat(contracts()["open"])
	p.Timeout = 10 * time.Second // none ends before the third
	g := newGuard(t, rdb, p, guard.Options{MaxInFlight: 2, NoOverrides: true})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { decide(t, g, r) })
		<-late.sent
	}
	if d := decide(t, g, r); !errors.Is(d.Cause, guard.ErrBusy) || d.Fallback != guard.FallbackOpen {
		t.Errorf("the third: %+v", d)
	}
	close(late.gate)
	all.Wait()
	if d := decide(t, g, r); d.Fallback != guard.FallbackNone {
		t.Errorf("once they are answered: %+v", d)
	}
}

// One client takes at most half of the places, so the others wait, too.
func TestWait_oneClientDoesNotCrowdOutOthers(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{MaxWait: time.Hour, MaxWaiting: 4})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 7)
	wait := func(names ...string) {
		for _, name := range names {
			r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=" + name}}
			decide(t, g, r) // uses its limit up
			go func() {
				_, err := g.Wait(ctx, r)
				errs <- err
			}()
		}
	}
	next := func() error {
		select {
		case err := <-errs:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("it waits")
		}
	}
	wait("ada", "ada", "ada")
	if err := next(); !errors.Is(err, guard.ErrCrowded) {
		t.Errorf("the third of one client: %v", err)
	}
	wait("bob", "cyd", "dan", "eve")
	for range 2 {
		if err := next(); !errors.Is(err, guard.ErrCrowded) {
			t.Errorf("the fifth and sixth: %v", err)
		}
	}
	cancel()
	for range 4 {
		if err := next(); !errors.Is(err, context.Canceled) {
			t.Errorf("one that waited: %v", err)
		}
	}
}
