// Package override follows the overrides that operators set at run time.
package override

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// How long it waits between two looks.
const (
	minWait = 100 * time.Millisecond
	maxWait = 5 * time.Second
)

// A Watch gives plans the overrides that hold: the policy's, and those that Redis has for the namespace. No request waits for it. The zero
// Watch knows the policy's alone.
type Watch struct {
	client *override.Client // nil where Redis is not asked
	wait   time.Duration
	begin  sync.Once
	ctx    context.Context // ends the watch
	stop   context.CancelFunc
	end    sync.WaitGroup

	mu      sync.Mutex
	plans   *plan.Plans // that requests are decided by
	held    map[string]timed
	ending  *time.Timer // ends the override that ends next
	ignored string      // what was logged last
}

// A timed override holds until a moment of this process's clock.
type timed struct {
	policy.Override
	until moment.Moment
}

// Follow makes the watch ask Redis once it is started, so often within its bounds.
func (w *Watch) Follow(rdb fcall.Caller, o fcall.Options, every time.Duration) (err error) {
	w.wait = min(max(every, minWait), maxWait)
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.client, err = override.New(rdb, o)
	return err
}

// Start asks from the first call on, until Close.
func (w *Watch) Start() {
	w.begin.Do(func() {
		if w.client != nil && w.ctx.Err() == nil {
			w.end.Go(w.run)
		}
	})
}

// Close ends the watch and what it runs.
func (w *Watch) Close() {
	if w.client == nil {
		return
	}
	w.stop()
	w.end.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = nil
	if w.ending != nil {
		w.ending.Stop()
	}
}

// Install makes plans those that requests are decided by, with the overrides that hold; store is called while these cannot change.
func (w *Watch) Install(ps *plan.Plans, store func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plans = ps
	w.apply()
	store()
}

func (w *Watch) run() {
	var known *int64
	told := false
	for {
		asked := moment.Now()
		r, err := w.client.List(w.ctx, override.ListParams{Bucket: policy.OverridesBucket, Known: known})
		switch {
		case err == nil:
			known, told = &r.Version, false
			if r.Changed {
				w.take(&r, asked)
			}
		case w.ctx.Err() != nil:
		case !told && !unanswered(err): // which decisions report
			slog.Warn("guard: overrides that are set at run time are not known", "error", err)
			told = true
		}
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(w.wait - rand.N(w.wait/4)): // processes that started together do not ask together
		}
	}
}

// unanswered reports whether Redis did not answer, or nothing that is about overrides.
func unanswered(err error) bool {
	return !errors.Is(err, fcall.ErrRefused) && (errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrOutcomeUnknown) || errors.Is(err, context.DeadlineExceeded))
}

// take holds what was listed; counted from when it was asked for, each ends no later than on the server.
func (w *Watch) take(r *override.ListResult, asked moment.Moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = make(map[string]timed, len(r.Overrides))
	for i := range r.Overrides {
		o := &r.Overrides[i]
		w.held[o.Subject] = timed{until: asked.Add(o.Left), Override: policy.Override{
			Allow: o.Effect == override.ListOverridesEffectAllow, Deny: o.Effect == override.ListOverridesEffectDeny, Multiply: o.Factor,
		}}
	}
	w.apply()
}

// apply gives the plans the overrides that hold, until the next of them ends.
func (w *Watch) apply() {
	at := moment.Now()
	maps.DeleteFunc(w.held, func(_ string, o timed) bool { return o.until <= at })
	w.plans.Override(w.plans.Policy.Overrides.With(w.lawful()))
	if w.ending != nil {
		w.ending.Stop()
	}
	if len(w.held) == 0 {
		return
	}
	next := slices.MinFunc(slices.Collect(maps.Values(w.held)), func(a, b timed) int { return cmp.Compare(a.until, b.until) }).until
	w.ending = time.AfterFunc(next.Since(at), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.apply()
	})
}

// lawful returns the overrides that the policy's file could have: a client must not write itself a subject that is not limited.
func (w *Watch) lawful() map[string]policy.Override {
	all := make(map[string]policy.Override, len(w.held))
	var ignored []string
	for subject, o := range w.held {
		check := o.Override
		check.Multiply = 1 // greater factors are bounded by what a limit may be
		if err := w.plans.Policy.CheckOverride(subject, check); err != nil && !o.Deny {
			ignored = append(ignored, fmt.Sprintf("%q: %v", subject, err))
			continue
		}
		all[subject] = o.Override
	}
	slices.Sort(ignored)
	if text := strings.Join(ignored, "; "); text != w.ignored {
		w.ignored = text
		if text != "" {
			slog.Warn("guard: overrides are ignored", "error", errors.New(text))
		}
	}
	return all
}
