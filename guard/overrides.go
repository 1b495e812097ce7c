package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/overrides"
)

// Bounds of the time between two polls.
const (
	minPoll = 100 * time.Millisecond
	maxPoll = 5 * time.Second
)

// An overrideWatch adds the overrides in Redis to those of the policy. It works in the background, so requests never wait for it. The zero Watch
// applies only the policy's overrides.
type overrideWatch struct {
	client *override.Client // nil if Redis is not polled
	wait   time.Duration
	begin  sync.Once
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	end    sync.WaitGroup

	mu       sync.Mutex
	snapshot *snapshot // of the current policy
	held     []override.ListOverridesResult
	asked    monotime.Time // when they were listed
	ending   *time.Timer   // fires when the next override expires
	ignored  string        // last logged text, so that it is logged once
}

// follow configures the watch to poll Redis, within its bounds.
func (w *overrideWatch) follow(rdb fcall.Caller, o fcall.Options, every time.Duration) (err error) {
	w.wait = min(max(every, minPoll), maxPoll)
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.client, err = override.New(rdb, o)
	return err
}

// start begins polling. Calls after the first, or after Close, do nothing.
func (w *overrideWatch) start() {
	w.begin.Do(func() {
		if w.client != nil && w.ctx.Err() == nil {
			w.end.Go(w.run)
		}
	})
}

// close stops the watch.
func (w *overrideWatch) close() {
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

// install sets the snapshot of a new policy and applies the overrides to it. It calls store while the overrides cannot change.
func (w *overrideWatch) install(snapshot *snapshot, store func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshot = snapshot
	w.apply()
	store()
}

func (w *overrideWatch) run() {
	var known *int64
	logged := false
	for {
		asked := monotime.Now()
		r, err := w.client.List(w.ctx, override.ListParams{Subject: agreed.OverridesSubject, Known: known})
		switch {
		case err == nil:
			known, logged = &r.Version, false
			if r.Changed {
				w.take(&r, asked)
			}
		case w.ctx.Err() != nil:
		case !logged && !unanswered(err): // decisions report a server that does not answer
			slog.Warn("guard: cannot read overrides", "error", err)
			logged = true
		}
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(w.wait - rand.N(w.wait/4)): // spreads processes that started together
		}
	}
}

// unanswered reports whether Redis did not answer or is not specific to overrides.
func unanswered(err error) bool {
	return !errors.Is(err, fcall.ErrNoPermission) && (errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrOutcomeUnknown) || errors.Is(err, context.DeadlineExceeded))
}

// take stores the listed overrides. It counts their TTL from before the call, so that none outlives its entry in Redis.
func (w *overrideWatch) take(r *override.ListResult, asked monotime.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held, w.asked = r.Overrides, asked
	w.apply()
}

// apply applies the overrides to the snapshot, and again when the next one expires. It logs those that guards ignore.
func (w *overrideWatch) apply() {
	since := monotime.Now().Since(w.asked)
	w.held = slices.DeleteFunc(w.held, func(o override.ListOverridesResult) bool { return o.Left <= since })
	var ignored []string
	w.snapshot.override(overrides.Of(w.snapshot.policy, w.held, func(o *override.ListOverridesResult, err error) {
		short := shortened(o.Subject)
		ignored = append(ignored, fmt.Sprintf("%q: %s", short, strings.ReplaceAll(err.Error(), o.Subject, short)))
	}))
	if text := strings.Join(ignored, "; "); text != w.ignored {
		w.ignored = text
		if text != "" {
			slog.Warn("guard: overrides ignored", "error", errors.New(text))
		}
	}
	if w.ending != nil {
		w.ending.Stop()
	}
	if len(w.held) == 0 {
		return
	}
	next := slices.MinFunc(w.held, func(a, b override.ListOverridesResult) int { return cmp.Compare(a.Left, b.Left) }).Left
	w.ending = time.AfterFunc(next-since, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.apply()
	})
}

// shortened returns a subject for a log: its identity and how its value begins.
func shortened(subject string) string {
	value := strings.IndexByte(subject, '=') + 1
	return subject[:value+min(4, (len(subject)-value)/3)] + "..."
}
