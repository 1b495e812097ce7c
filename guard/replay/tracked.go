package replay

import "slices"

// tracked is what is known in this process of a subject, or of a global limit: what it took, as far as that may matter,
// and what of it the engine has not been told yet. A rule that has room whatever happened before says yes without the engine.
type tracked struct {
	name   string
	user   bool  // of a line with a user
	factor int64 // how many times each limit it has
	shard  int
	plan   *plan // of a global limit

	calls []call
	sent  int    // of calls that the engine knows
	marks []mark // by track

	struck  bool  // a block has started: what it leaves behind is the engine's
	held    int64 // a block may hold until then
	blocked int64 // a block holds until then
	writes  int   // counts changes of what the engine holds, or will
	known   known

	tally tally
}

// A call is one that was admitted; or one that was given back, or refused and recorded as an attempt.
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

// A mark is one track of a subject.
type mark struct {
	head  int     // the first call within the span
	from  int     // the first call that is not known to be without any effect, of a rule that does not forget
	sum   int64   // of the costs from head on
	level float64 // of a gcra: the most that may be in use at the time at
	at    int64
	idle  int64 // from when on the track is surely as new
}

// certain tells whether a call now is allowed, whatever the engine holds, and need not be told to it yet.
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
		// An expiry that the engine has carried out cannot be taken back for a call before it.
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

// add notes a call. One that the engine was not told yet is told when it has to be.
func (t *tracked) add(p *plan, now int64, kind callKind, told bool) {
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
	if told {
		t.sent = len(t.calls)
	}
}

const compactAt = 64

// compact drops calls that matter no more, once they may be half of all.
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
