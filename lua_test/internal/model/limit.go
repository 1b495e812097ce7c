package model

import (
	"math"
	"math/big"
	"slices"
	"sort"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// A limitKey is what makes a limit one: its subject, and the key's suffix, which has its kind, window and name.
type limitKey struct{ subject, suffix string }

// A limitState is what the key of a limit holds. The zero one is no key. Stored slices and maps are never changed.
type limitState struct {
	admitted []int64            // sliding_log: times, oldest first
	used     int64              // fixed_window, and this window of a sliding_counter
	before   int64              // sliding_counter: the window before
	full     *big.Rat           // gcra: the time when it is full, in microseconds
	limit    int64              // gcra: of the call that wrote it
	capacity int64              // gcra: the milliseconds in which an empty one fills, for that call
	periods  map[[2]int64]int64 // quota: what is used of each, by start and end
	endMS    int64              // the millisecond in which the key expires
}

// A look is how a limit stands for a call, and the state to be if it is charged.
type look struct {
	CheckRow
	next  limitState
	reset time.Duration // reset_after once it is charged
}

// suffix is what follows the subject in the key of a limit.
func (l CheckLimit) suffix() string {
	if l.Kind == "quota" {
		return fcall.Suffix(l.Kind, l.Name)
	}
	return fcall.Suffix(fcall.Suffix(l.Kind, l.Window), l.Name)
}

// lookAt says how a limit stands at a time, and what a charge of its cost makes of its key.
func (s limitState) lookAt(l CheckLimit, now int64) (look, error) {
	switch l.Kind {
	case "sliding_log":
		return s.log(l, now), nil
	case "sliding_counter":
		return s.counter(l, now), nil
	case "fixed_window":
		return s.window(l, now), nil
	case "quota":
		return s.quota(l, now)
	}
	return s.bucket(l, now)
}

// row is one of a limit that has used so much, and has that until a time from now.
func row(l CheckLimit, used int64, reset time.Duration) CheckRow {
	r := CheckRow{Allowed: used+l.Cost <= l.Limit, Remaining: max(l.Limit-used, 0), ResetAfter: reset}
	if !r.Allowed {
		r.RetryAfter = reset
	}
	return r
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (s limitState) log(l CheckLimit, now int64) look {
	window, at := microseconds(l.Window), now
	live := s.admitted
	if n := len(live); n > 0 && live[n-1]-now <= window { // else a wrong clock wrote it
		at = max(now, live[n-1])
		live = live[slices.IndexFunc(append(live[:n:n], math.MaxInt64), func(t int64) bool { return t > at-window }):]
	} else {
		live = nil
	}
	r := CheckRow{Allowed: int64(len(live))+l.Cost <= l.Limit, Remaining: max(l.Limit-int64(len(live)), 0)}
	if n := int64(len(live)); n > 0 {
		r.ResetAfter = duration(live[n-1] + window - now)
		if !r.Allowed {
			r.RetryAfter = duration(live[n-1-(l.Limit-l.Cost)] + window - now)
		}
	}
	ahead := duration(at - now)
	next := limitState{admitted: append(live[:len(live):len(live)], at), endMS: expiry(now, window+at-now)}
	return look{r, next, duration(window) + ahead}
}

// live is how many admissions are in the window.
func (s limitState) live(l CheckLimit, now int64) int64 {
	return int64(len(s.log(l, now).next.admitted)) - 1
}

func (s limitState) window(l CheckLimit, now int64) look {
	window, left := milliseconds(l.Window), s.endMS-now/1000
	if s.endMS == 0 || left <= 0 || left > 2*window {
		left, s.used = 0, 0
	}
	r := row(l, s.used, ms(left))
	if left == 0 {
		left = window
	}
	return look{r, limitState{used: s.used + l.Cost, endMS: now/1000 + left}, ms(left)}
}

// pair returns the state of a sliding_counter as of now, and how far its window has gone.
func (s limitState) pair(l CheckLimit, now int64) (_ limitState, elapsed int64) {
	window, left := milliseconds(l.Window), s.endMS-now/1000
	switch elapsed = 2*window - left; {
	case s.endMS == 0 || left <= 0 || left > 3*window:
		return limitState{endMS: now/1000 + 2*window}, 0
	case elapsed >= window:
		return limitState{before: s.used, endMS: s.endMS + window}, elapsed - window
	}
	return s, elapsed
}

// weight is what the window before still counts, rounded up; by one more where a product of doubles is not exact.
func weight(before, left, window int64) int64 {
	product := float64(before) * float64(left)
	w := int64(math.Ceil(product / float64(window)))
	if product > 1<<53 {
		return min(w+1, before)
	}
	return w
}

func (s limitState) counter(l CheckLimit, now int64) look {
	window := milliseconds(l.Window)
	at, elapsed := s.pair(l, now)
	left := l.Limit - at.used - weight(at.before, window-max(elapsed, 0), window)
	r := CheckRow{Allowed: l.Cost <= left, Remaining: max(left, 0), ResetAfter: at.forgotten(window, elapsed)}
	fits := func(count, room int64) int64 { // how far a window has gone when count of the one before weighs at most room
		return int64(sort.Search(int(window), func(gone int) bool { return weight(count, window-int64(gone), window) <= room }))
	}
	switch {
	case r.Allowed:
	case at.used+l.Cost <= l.Limit:
		r.RetryAfter = ms(fits(at.before, l.Limit-at.used-l.Cost) - elapsed)
	default:
		r.RetryAfter = ms(window - elapsed + fits(at.used, l.Limit-l.Cost))
	}
	next := at
	next.used += l.Cost
	return look{r, next, next.forgotten(window, elapsed)}
}

// forgotten is the time until a sliding_counter counts nothing.
func (s limitState) forgotten(window, elapsed int64) time.Duration {
	switch {
	case s.used > 0:
		return ms(2*window - elapsed)
	case s.before > 0:
		return ms(window - elapsed)
	}
	return 0
}

// period is the one that a time is in.
func (l CheckLimit) period(now int64) (p [2]int64, err error) {
	all := []int64{l.Previous.UnixMicro(), l.Start.UnixMicro(), l.Next.UnixMicro(), l.After.UnixMicro()}
	for i := range all[:3] {
		if all[i] <= now && now < all[i+1] {
			return [2]int64{all[i], all[i+1]}, nil
		}
	}
	return p, ErrArgument
}

func (s limitState) quota(l CheckLimit, now int64) (look, error) {
	p, err := l.period(now)
	if err != nil {
		return look{}, err
	}
	used, left := s.periods[p], duration(p[1]-now)
	r := row(l, used, left)
	if used == 0 {
		r.ResetAfter = 0
	}
	next := limitState{periods: map[[2]int64]int64{p: used + l.Cost}, endMS: s.endMS}
	for other, n := range s.periods {
		if other != p && (used > 0 || other[1] > l.Previous.UnixMicro()) {
			next.periods[other] = n
		}
	}
	if used == 0 {
		next.endMS = max(s.endMS, (p[1]+999)/1000)
	}
	return look{r, next, left}, nil
}

// tokens are the microseconds in which a bucket gains so many.
func (l CheckLimit) tokens(n int64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(n), big.NewInt(microseconds(l.Window))), big.NewInt(l.Limit))
}

// up is how many times to goes into r, rounded up. What a small limit sees of a great one's tokens may be beyond all numbers.
func up(r *big.Rat, to int64) int64 {
	n, rest := new(big.Int).DivMod(r.Num(), new(big.Int).Mul(r.Denom(), big.NewInt(to)), new(big.Int))
	if !n.IsInt64() {
		return math.MaxInt64
	}
	if rest.Sign() > 0 {
		return n.Int64() + 1
	}
	return n.Int64()
}

// level is the time until a bucket is full, for a caller with some limit.
func (s limitState) level(l CheckLimit, now int64) *big.Rat {
	if s.endMS == 0 || 1000*(s.endMS-now/1000-s.capacity) > microseconds(l.Window) {
		return new(big.Rat)
	}
	level := new(big.Rat).Sub(s.full, new(big.Rat).SetInt64(now/1000*1000))
	if level.Sign() < 0 {
		return new(big.Rat)
	}
	if s.limit == l.Limit {
		return level
	}
	whole := new(big.Int).Quo(level.Num(), level.Denom()).Int64()
	part, _ := new(big.Rat).Sub(level, new(big.Rat).SetInt64(whole)).Float64()
	return new(big.Rat).SetFloat64(math.Ceil((float64(whole) + part) * (float64(s.limit) / float64(l.Limit))))
}

// filled is the state of a bucket that is full after a time.
func filled(l CheckLimit, level *big.Rat, now int64) limitState {
	if level.Sign() <= 0 {
		return limitState{}
	}
	full := new(big.Rat).Add(new(big.Rat).SetInt64(now/1000*1000), level)
	return limitState{full: full, limit: l.Limit, capacity: up(l.tokens(l.most()), 1000), endMS: now/1000 + up(level, 1000)}
}

func (s limitState) bucket(l CheckLimit, now int64) (look, error) {
	if err := l.even(); err != nil {
		return look{}, err
	}
	level, full := s.level(l, now), l.tokens(l.most())
	next := new(big.Rat).Add(level, l.tokens(l.Cost))
	r := CheckRow{Allowed: next.Cmp(full) <= 0, ResetAfter: ms(min(up(level, 1000), max(s.endMS-now/1000, 0)))}
	room := new(big.Rat).Quo(new(big.Rat).Sub(full, level), l.tokens(1))
	if room.Sign() > 0 {
		r.Remaining = new(big.Int).Quo(room.Num(), room.Denom()).Int64()
	}
	if !r.Allowed {
		r.RetryAfter = ms(min(up(new(big.Rat).Sub(next, full), 1000), s.endMS-now/1000))
	}
	return look{r, filled(l, next, now), ms(up(next, 1000))}, nil
}

// even reports whether limit and period have a ratio that is short enough for the burst: what a token takes beyond whole milliseconds is
// counted in parts of one, of which all tokens together take fewer than 2^53.
func (l CheckLimit) even() error {
	period := microseconds(l.Window)
	common := new(big.Int).GCD(nil, nil, big.NewInt(l.Limit), big.NewInt(period)).Int64()
	if rest := period / common % (1000 * (l.Limit / common)); float64(l.most())*float64(rest) < 1<<53 {
		return nil
	}
	return ErrArgument
}

// refund is the state once a charge is given back that counts until a time, 0 if that is not known; ok is false if nothing is.
func (s limitState) refund(l CheckLimit, now, until int64) (_ limitState, ok bool) {
	switch l.Kind {
	case "sliding_log":
		n := len(s.admitted)
		i := n - 1
		if until > 0 {
			for i >= 0 && s.admitted[i] != until-microseconds(l.Window) {
				i--
			}
		}
		if i < 0 {
			return s, false
		}
		s.admitted = slices.Delete(slices.Clone(s.admitted), i, i+1)
		if n == 1 {
			return limitState{}, true
		}
		return s, true
	case "sliding_counter":
		at, _ := s.pair(l, now)
		back := min(at.used, l.Cost)
		if until > 0 && now >= until-1000*milliseconds(l.Window) {
			back = 0
		}
		before := min(at.before, l.Cost-back)
		if back+before == 0 {
			return s, false
		}
		if at.used, at.before = at.used-back, at.before-before; at.used+at.before == 0 {
			return limitState{}, true
		}
		return at, true
	case "fixed_window":
		free := l
		free.Cost = 0
		at := s.window(free, now)
		if at.next.used == 0 {
			return s, false
		}
		if at.next.used -= l.Cost; at.next.used <= 0 {
			return limitState{}, true
		}
		return at.next, true
	case "quota":
		p, err := l.period(now)
		if err != nil || s.periods[p] == 0 {
			return s, false
		}
		next := limitState{periods: map[[2]int64]int64{}, endMS: s.endMS}
		for other, n := range s.periods {
			if other != p {
				next.periods[other] = n
			} else if n > l.Cost {
				next.periods[p] = n - l.Cost
			}
		}
		if len(next.periods) == 0 {
			return limitState{}, true
		}
		return next, true
	}
	level := s.level(l, now)
	if level.Sign() == 0 {
		return s, false
	}
	if empty := l.tokens(l.most()); level.Cmp(empty) > 0 { // another limit took more than this one has
		level = empty
	}
	return filled(l, level.Sub(level, l.tokens(l.Cost)), now), true
}
