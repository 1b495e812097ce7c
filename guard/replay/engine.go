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

// An engine is an embedded server with guard's Lua and its own clock, for one goroutine at a time.
type engine struct {
	clock      *embedded.ManualClock
	server     *embedded.Server
	client     *guard.Client
	sequential bool  // one call for each decision, to test the shortcuts
	asked      int64 // number of calls
	quotas     map[*plan]*quotas
}

func newEngine(namespace string) (*engine, error) {
	e := &engine{clock: embedded.NewManualClock(time.UnixMicro(0)), quotas: map[*plan]*quotas{}}
	e.server = embedded.New(embedded.Options{Clock: e.clock})
	ctx := context.Background()
	if err := e.server.Process(ctx, redis.NewStringCmd(ctx, "function", "load", guard.Library.Code)); err != nil {
		return nil, fmt.Errorf("load %s: %w", guard.Library.Name, err)
	}
	var err error
	e.client, err = guard.New(e.server, fcall.Options{Namespace: namespace, Mode: fcall.ModeFunctions, NoAutoLoad: true})
	return e, err
}

// admit makes a call, after the deferred ones.
func (e *engine) admit(ctx context.Context, t *tracked, p *plan, at int64, id string) (guard.AdmitResult, error) {
	if err := e.flush(ctx, t, at); err != nil {
		return guard.AdmitResult{}, err
	}
	return e.call(ctx, t, p, at, id)
}

func (e *engine) call(ctx context.Context, t *tracked, p *plan, at int64, id string) (guard.AdmitResult, error) {
	ctx = context.WithoutCancel(ctx) // a context that can end costs a goroutine for each call
	e.asked++
	e.clock.Set(time.UnixMicro(at))
	params := p.params
	params.Limits = e.limits(p, at)
	params.Subject = fcall.Subject(t.name)
	if id != "" && p.dedup > 0 {
		params.Receipt, params.Dedup, params.Repeats = id, p.dedup, p.repeats
	}
	if len(p.budgets) > 0 {
		t.reserved++
		params.Reservation = strconv.FormatInt(t.reserved, 10)
	}
	return e.client.Admit(ctx, params)
}

// flush makes the deferred calls, each at its time. It loads calls that only matter to sliding logs all at once.
func (e *engine) flush(ctx context.Context, t *tracked, now int64) error {
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
			return fmt.Errorf("replay of %s at %s: expected allowed, got refused: %s", t.name, time.UnixMicro(c.at).UTC().Format(time.RFC3339Nano), result.Reason)
		}
		if c.kind == undone {
			if err := e.refund(ctx, t, c.plan, "", &result); err != nil {
				return err
			}
		}
		t.sent++
	}
	return nil
}

// refund refunds the last call of t, at the time of that call.
func (e *engine) refund(ctx context.Context, t *tracked, p *plan, id string, took *guard.AdmitResult) error {
	e.asked++
	back := guard.RefundParams{
		Subject: fcall.Subject(t.name), Limits: e.limits(p, took.At.UnixMicro()), Taken: make([]guard.RefundTaken, len(p.limits)), At: took.At,
	}
	if len(p.budgets) > 0 {
		back.Reservation = strconv.FormatInt(t.reserved, 10)
	}
	if id != "" && p.dedup > 0 {
		back.Receipt = id
	}
	for i := range took.Limits {
		if took.Limits[i].Allowed { // a shadow limit that would refuse charges nothing
			back.Taken[i].Left = took.Limits[i].ResetAfter
		}
	}
	_, err := e.client.Refund(context.WithoutCancel(ctx), back)
	return err
}
