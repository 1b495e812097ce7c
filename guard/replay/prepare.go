package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// A batch is a block of a log, ready to be decided.
type batch struct {
	jobs  []job
	tells blockTells
}

// blockTells is what a block says besides its jobs.
type blockTells struct {
	bytes, lines, unmatched, disordered, limited int64
	bad                                          []accesslog.Bad
	subsecond                                    bool // a time is finer than seconds
}

// A preparer turns lines into jobs, in one goroutine.
type preparer struct {
	plans  *plans
	routes *routes
	people *people
	late   time.Duration
	clock  time.Time // never runs backwards
	latest int64     // the line that set it
}

func (p *preparer) prepare(b *accesslog.Block) *batch {
	out := &batch{jobs: make([]job, 0, len(b.Lines))}
	out.tells.bytes, out.tells.bad = b.Bytes, b.Bad
	out.tells.lines = int64(len(b.Lines) + len(b.Bad))
	for i := range b.Lines {
		p.line(&b.Lines[i], out)
	}
	return out
}

func (p *preparer) line(l *accesslog.Line, out *batch) {
	tells := &out.tells
	tells.subsecond = tells.subsecond || l.Time.Nanosecond() != 0
	if l.Time.Before(p.clock) {
		if behind := p.clock.Sub(l.Time); behind > p.late {
			tells.bad = append(tells.bad, accesslog.Bad{
				Number: l.Number, Why: fmt.Sprintf("is %s earlier than line %d: the log is not in order", behind, p.latest),
			})
			return
		}
		tells.disordered++
	} else {
		p.clock, p.latest = l.Time, l.Number
	}
	endpoint := p.routes.of(l.Method, l.Path)
	if endpoint < 0 {
		tells.unmatched++
		return
	}
	who, err := p.people.of(l)
	if err != nil {
		tells.bad = append(tells.bad, accesslog.Bad{Number: l.Number, Why: err.Error()})
		return
	}
	if l.Status == statusTooMany {
		tells.limited++
	}
	jb := job{number: l.Number, at: p.clock.UnixMicro(), endpoint: endpoint, subject: who.tracked, denied: who.deny}
	if !who.allow && !who.deny {
		jb.plan = p.plans.subject(endpoint, planKey{who.user, who.factor})
		jb.id = p.id(l, endpoint)
	}
	out.jobs = append(out.jobs, jb)
}

// id is the receipt that guard makes of a line's ID: what was paid for at one endpoint does not pass at another.
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
	longestID     = 224 // of a receipt; see gen/guard
)
