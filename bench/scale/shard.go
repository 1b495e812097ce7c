package main

import "time"

// A shard serves one call after the other.
type shard struct {
	free  time.Duration // when it has served all calls that have arrived
	calls int64
}

// serve returns when a call that arrives now has been served.
func (s *shard) serve(now, service time.Duration) time.Duration {
	s.calls++
	s.free = max(s.free, now) + service
	return s.free
}

// A window is a fixed_window limit in Redis, or a gcra.
type window struct {
	limit  int64
	length time.Duration
	gcra   bool

	used float64
	ends time.Duration // of a fixed window
	at   time.Duration // when used was true, of a gcra

	admitted int64 // in this window
	fullest  int64
	level    float64 // what was admitted and not gained since, of a gcra
	highest  float64
	leveled  time.Duration
}

func (w *window) gained(since, now time.Duration) float64 {
	return float64(w.limit) * float64(now-since) / float64(w.length)
}

// settle forgets what no longer counts.
func (w *window) settle(now time.Duration) {
	if w.gcra {
		w.used, w.at = max(w.used-w.gained(w.at, now), 0), now
	} else if now >= w.ends {
		w.used = 0
	}
}

// take charges up to most.
func (w *window) take(now time.Duration, most int64) (taken, remaining int64, reset, retry time.Duration) {
	w.settle(now)
	taken = max(min(most, w.limit-int64(w.used+0.999999)), 0)
	if taken > 0 && !w.gcra && w.used == 0 {
		w.ends, w.admitted = now+w.length, 0
	}
	w.used += float64(taken)
	remaining, reset = max(w.limit-int64(w.used+0.999999), 0), w.ends-now
	if w.gcra {
		reset = time.Duration(w.used * float64(w.length) / float64(w.limit))
	}
	if taken == 0 {
		retry = reset
		if w.gcra {
			retry = time.Duration((w.used + 1 - float64(w.limit)) * float64(w.length) / float64(w.limit))
		}
	}
	return taken, remaining, reset, retry
}

func (w *window) refund(now time.Duration, tokens int64) {
	w.settle(now)
	w.used = max(w.used-float64(tokens), 0)
}

// admit counts an admission at its time, to hold it against the limit's bound.
func (w *window) admit(now time.Duration) {
	w.admitted++
	w.fullest = max(w.fullest, w.admitted)
	w.level = max(w.level-w.gained(w.leveled, now), 0) + 1
	w.highest, w.leveled = max(w.highest, w.level), now
}
