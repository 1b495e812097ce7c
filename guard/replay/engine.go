package replay

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// An engine is one embedded server with guard's Lua, on a clock of its own. For one goroutine at a time.
type engine struct {
	clock    *embedded.ManualClock
	server   *embedded.Server
	client   *guard.Client
	straight bool // each decision is a call: what the shortcuts are held against
	reserved int64
	asked    int64 // calls
}

func newEngine(namespace string) (*engine, error) {
	e := &engine{clock: embedded.NewManualClock(time.UnixMicro(0))}
	e.server = embedded.New(embedded.Options{Clock: e.clock})
	ctx := context.Background()
	if err := e.server.Process(ctx, redis.NewStringCmd(ctx, "function", "load", guard.Library.Code)); err != nil {
		return nil, fmt.Errorf("load %s: %w", guard.Library.Name, err)
	}
	var err error
	e.client, err = guard.New(e.server, fcall.Options{Namespace: namespace, Mode: fcall.ModeFunctions, NoHeal: true})
	return e, err
}

// admit puts a call to the engine, which is quick and not to be cancelled, after those that it was not told yet.
func (e *engine) admit(ctx context.Context, t *tracked, p *plan, at int64, id string) (guard.AdmitResult, error) {
	if err := e.tell(ctx, t, at); err != nil {
		return guard.AdmitResult{}, err
	}
	return e.call(ctx, t, p, at, id)
}

func (e *engine) call(ctx context.Context, t *tracked, p *plan, at int64, id string) (guard.AdmitResult, error) {
	ctx = context.WithoutCancel(ctx) // else every call would have a goroutine of its own
	e.asked++
	e.clock.Set(time.UnixMicro(at))
	params := p.params
	params.Bucket = fcall.Subject(t.name)
	if id != "" && p.dedup > 0 {
		params.Receipt, params.Dedup, params.Repeats = id, p.dedup, p.repeats
	} else if len(p.budgets) > 0 {
		e.reserved++
		params.Reservation = strconv.FormatInt(e.reserved, 10)
	}
	return e.client.Admit(ctx, params)
}

// tell makes the calls that were put off, each at its time. Those that only matter to sliding logs are loaded at once.
func (e *engine) tell(ctx context.Context, t *tracked, now int64) error {
	for t.sent < len(t.calls) {
		if n := t.onlyLogs(now); n > 0 {
			if err := e.load(ctx, t, t.calls[t.sent:t.sent+n], now); err != nil {
				return err
			}
			t.sent += n
			continue
		}
		c := &t.calls[t.sent]
		result, err := e.call(ctx, t, c.plan, c.at, "")
		if err != nil {
			return err
		}
		if !result.Allowed {
			return fmt.Errorf("%s at %s was thought to be allowed, and is refused: %s", t.name, time.UnixMicro(c.at).UTC().Format(time.RFC3339Nano), result.Reason)
		}
		if c.kind == undone {
			if err := e.giveBack(ctx, t, c.plan, "", &result); err != nil {
				return err
			}
		}
		t.sent++
	}
	return nil
}

// giveBack gives back what a call took, at the time of that call.
func (e *engine) giveBack(ctx context.Context, t *tracked, p *plan, id string, took *guard.AdmitResult) error {
	e.asked++
	back := guard.GiveBackParams{
		Bucket: fcall.Subject(t.name), Limits: p.params.Limits, Taken: make([]guard.GiveBackTaken, len(p.limits)), At: took.At,
		Reservation: took.Reservation,
	}
	if id != "" && p.dedup > 0 {
		back.Receipt = id
	}
	for i := range took.Limits {
		if took.Limits[i].Allowed { // a shadow limit that does not has taken nothing
			back.Taken[i].Left = took.Limits[i].ResetAfter
		}
	}
	_, err := e.client.GiveBack(context.WithoutCancel(ctx), back)
	return err
}
