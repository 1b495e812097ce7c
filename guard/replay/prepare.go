package replay

import (
	"fmt"
	"net/http"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// A batch is a block of a log, ready to decide.
type batch struct {
	jobs  []job
	stats blockStats
}

// blockStats counts the lines of a block.
type blockStats struct {
	bytes, lines, unmatched, disordered, limited int64
	bad                                          []accesslog.Bad
	subsecond                                    bool // a time has a fraction of a second
	unanswered                                   bool // a line has no status
}

// A preparer turns lines into jobs, in one goroutine.
type preparer struct {
	policy  *policy.Policy
	routes  *routes
	clients *clients
	late    time.Duration
	clock   time.Time // never runs backwards
	latest  int64     // line that set the clock
}

func (p *preparer) prepare(b *accesslog.Block) *batch {
	out := &batch{jobs: make([]job, 0, len(b.Lines))}
	out.stats.bytes, out.stats.bad = b.Bytes, b.Bad
	out.stats.lines = int64(len(b.Lines) + len(b.Bad))
	for i := range b.Lines {
		p.line(&b.Lines[i], out)
	}
	return out
}

func (p *preparer) line(l *accesslog.Line, out *batch) {
	stats := &out.stats
	bad := func(why string) { stats.bad = append(stats.bad, accesslog.Bad{Number: l.Number, Why: why}) }
	stats.subsecond = stats.subsecond || l.Time.Nanosecond() != 0
	if l.Time.Before(p.clock) {
		if behind := p.clock.Sub(l.Time); behind > p.late {
			bad(fmt.Sprintf("is %s earlier than line %d: the log is not in order", behind, p.latest))
			return
		}
		stats.disordered++
	} else {
		p.clock, p.latest = l.Time, l.Number
	}
	found := p.routes.of(l.Method, l.Path)
	if found.endpoint < 0 && found.err == nil {
		stats.unmatched++
		return
	}
	c, err := (*client)(nil), found.err
	if err == nil {
		c, err = p.clients.of(l)
	}
	if err != nil {
		bad(err.Error())
		return
	}
	if l.Status == http.StatusTooManyRequests {
		stats.limited++
	}
	stats.unanswered = stats.unanswered || l.Status == 0
	e := &p.policy.Endpoints[found.endpoint]
	call := web.Call{Operation: l.Method, Path: l.Path}
	if e.Idempotency != nil && l.ID != "" {
		call.Header = http.Header{http.CanonicalHeaderKey(e.Idempotency.Header): {l.ID}}
	}
	out.jobs = append(out.jobs, job{
		number: l.Number, at: p.clock, endpoint: found.endpoint, client: c, status: l.Status,
		request: call.Request(p.policy, e, found.others, &c.found),
	})
}
