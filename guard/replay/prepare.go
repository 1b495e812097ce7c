package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

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
	several, planned                             int64 // lines that are not decided: of several endpoints, or of a client with a plan
	bad                                          []accesslog.Bad
	subsecond                                    bool // a time has a fraction of a second
}

// A preparer turns lines into jobs, in one goroutine.
type preparer struct {
	plans   *plans
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
	stats.subsecond = stats.subsecond || l.Time.Nanosecond() != 0
	if l.Time.Before(p.clock) {
		if behind := p.clock.Sub(l.Time); behind > p.late {
			stats.bad = append(stats.bad, accesslog.Bad{
				Number: l.Number, Why: fmt.Sprintf("is %s earlier than line %d: the log is not in order", behind, p.latest),
			})
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
	if found.several {
		stats.several++
		return
	}
	c, err := client{}, found.err
	if err == nil {
		c, err = p.clients.of(l)
	}
	if err != nil {
		stats.bad = append(stats.bad, accesslog.Bad{Number: l.Number, Why: err.Error()})
		return
	}
	if c.planned {
		stats.planned++
		return
	}
	endpoint := found.endpoint
	if l.Status == statusTooMany {
		stats.limited++
	}
	jb := job{number: l.Number, at: p.clock.UnixMicro(), endpoint: endpoint, subject: c.tracked, denied: c.deny}
	if !c.allow && !c.deny {
		jb.plan = p.plans.subject(endpoint, planKey{c.user, c.factor})
		jb.id = p.id(l, endpoint)
	}
	out.jobs = append(out.jobs, jb)
}

// id returns the receipt that guard makes of a line's ID. It has the endpoint and method, so an ID counts once for each.
func (p *preparer) id(l *accesslog.Line, endpoint int) string {
	e := &p.plans.policy.Endpoints[endpoint]
	if l.ID == "" || e.Idempotency == nil {
		return ""
	}
	own := l.Method + " " + l.ID
	if named := e.Name + ":" + own; len(named) <= longestID {
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return e.Name + ":~" + hex.EncodeToString(sum[:])
}

const (
	statusTooMany = 429
	longestID     = 224 // bytes of a receipt, see gen/guard
)
