package replay

import "slices"

// tracked is the local state of a subject or a global limit: charges that still matter, and calls that are deferred. A rule that
// certainly has room needs no call of the engine.
type tracked struct {
	name   string
	user   bool  // the subject is a user
	factor int64 // factor of its limits
	shard  int
	plan   *plan // for a global limit

	calls []call
	sent  int    // number of calls that the engine has; the others are deferred
	marks []mark // by track

	reserved int64 // number of its calls with a reservation

	struck  bool  // a block has started: only the engine knows its strikes
	held    int64 // time until which a block may hold
	blocked int64 // time until which a block holds
	writes  int   // number of changes of the engine's state, with deferred ones
	known   known

	tally tally
}

// A call is an admitted call, an undone one, or a refused one that counts as an attempt.
type call struct {
	at   int64
	plan *plan
	kind callKind
}

type callKind uint8

const (
	taken callKind = iota
	undone
	attempted
)

func (c *call) cost(track int) int64 {
	costs := c.plan.costs
	if c.kind == attempted {
		costs = c.plan.attempt
	}
	if track < len(costs) {
		return costs[track]
	}
	return 0
}

// A mark is the state of one track of a subject.
type mark struct {
	head  int     // first call within the span
	from  int     // first call that may have an effect, for a rule that does not forget
	sum   int64   // costs from head on
	level float64 // for a gcra: the most tokens in use at time at
	at    int64
	idle  int64 // time from which the track certainly has its full capacity
}

// certain reports whether a call at now is allowed in any state of the engine, so that it can be deferred.
func (t *tracked) certain(p *plan, now int64) bool {
	if now < t.held || p.refusals && t.struck {
		return false
	}
	for i := range p.rules {
		r := &p.rules[i]
		if r.cost == 0 {
			continue
		}
		m := t.mark(r.track)
		if r.level > 0 {
			if t.levelNow(m, r, now)+float64(r.cost)+2*tick*r.level > float64(r.most) {
				return false
			}
		} else if t.advance(m, r.track, r.span, now); m.sum+r.cost > r.most {
			return false
		}
		// An expired key cannot return for a deferred call before its expiry.
		if !r.forgets && now < m.idle && m.from < t.sent {
			return false
		}
	}
	return true
}

func (t *tracked) mark(track int) *mark {
	for len(t.marks) <= track {
		t.marks = append(t.marks, mark{})
	}
	return &t.marks[track]
}

func (t *tracked) levelNow(m *mark, r *rule, now int64) float64 {
	return max(0, m.level-float64(now-m.at)*r.level)
}

func (t *tracked) advance(m *mark, track int, span, now int64) {
	for m.head < len(t.calls) && t.calls[m.head].at <= now-span {
		m.sum -= t.calls[m.head].cost(track)
		m.head++
	}
}

// add records a call; sent means that the engine has it.
func (t *tracked) add(p *plan, now int64, kind callKind, sent bool) {
	t.writes++
	c := call{now, p, kind}
	for i := range p.rules {
		r := &p.rules[i]
		cost := c.cost(r.track)
		if cost == 0 {
			continue
		}
		m := t.mark(r.track)
		if now >= m.idle {
			m.from = len(t.calls)
		}
		if r.level > 0 {
			m.level, m.at = t.levelNow(m, r, now)+float64(cost), now
			m.idle = now + int64(m.level/r.level) + 3*tick
			continue
		}
		t.advance(m, r.track, r.span, now)
		m.sum += cost
		m.idle = now + r.span
	}
	t.calls = append(t.calls, c)
	if sent {
		t.sent = len(t.calls)
	}
}

const compactAt = 64

// compact drops calls without effect if they may be half of all.
func (t *tracked) compact(byTrack []rule, now int64) {
	n := len(t.calls)
	if n < compactAt || n < cap(t.calls) {
		return
	}
	drop := n
	for track := range t.marks {
		m, r := &t.marks[track], &byTrack[track]
		if r.level == 0 {
			t.advance(m, track, r.span, now)
		}
		switch {
		case now >= m.idle:
		case !r.forgets && m.from >= t.sent:
			drop = min(drop, m.from)
		case r.level == 0:
			drop = min(drop, m.head)
		}
	}
	if drop < n/2 {
		t.calls = slices.Grow(t.calls, n)
		return
	}
	t.calls = append(t.calls[:0], t.calls[drop:]...)
	t.sent = max(0, t.sent-drop)
	for i := range t.marks {
		m := &t.marks[i]
		m.head, m.from = max(0, m.head-drop), max(0, m.from-drop)
	}
}
