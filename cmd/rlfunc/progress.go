package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/replay"
)

// A progress shows how far a replay is: one line that changes on a terminal, a plain one now and then elsewhere.
type progress struct {
	app      *app
	size     int64 // of the log, 0 when it is not known
	began    time.Time
	next     time.Time
	every    time.Duration
	changing bool // the line on the terminal is there
	terminal bool
}

func (a *app) newProgress(size int64) *progress {
	p := &progress{app: a, size: size, began: time.Now(), every: 5 * time.Second}
	if file, ok := a.err.(*os.File); ok && isTerminal(file) && os.Getenv("TERM") != "dumb" {
		p.terminal, p.every = true, 100*time.Millisecond
	}
	p.next = p.began.Add(p.every)
	return p
}

func (p *progress) show(at replay.Progress) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every)
	text := fmt.Sprintf("%d lines, %.0f a second, at %s", at.Lines, float64(at.Lines)/now.Sub(p.began).Seconds(), at.At.Format("2006-01-02 15:04:05"))
	if p.size > 0 {
		text = fmt.Sprintf("%s %3.0f %%  %s", p.bar(at.Bytes), 100*p.part(at.Bytes), text)
	}
	if p.terminal {
		fmt.Fprintf(p.app.err, "\r%s\x1b[K", text)
		p.changing = true
		return
	}
	p.app.talk("%s", strings.TrimSpace(text))
}

func (p *progress) part(bytes int64) float64 { return min(1, float64(bytes)/float64(p.size)) }

// bar is drawn on a terminal alone, without a colour.
func (p *progress) bar(bytes int64) string {
	if !p.terminal {
		return ""
	}
	const width = 24
	done := int(p.part(bytes) * width)
	return "[" + strings.Repeat("#", done) + strings.Repeat(".", width-done) + "]"
}

// end takes the line away.
func (p *progress) end() {
	if p.changing {
		fmt.Fprint(p.app.err, "\r\x1b[K")
	}
}
