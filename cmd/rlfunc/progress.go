package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/replay"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// A progress shows the progress of a replay: one changing line on a terminal, otherwise a line every 5 s.
type progress struct {
	app      *app
	size     int64 // of the log; 0 if unknown
	began    time.Time
	next     time.Time
	every    time.Duration
	changing bool // the terminal shows the line
	movable  bool
}

func (a *app) newProgress(size int64) *progress {
	p := &progress{app: a, size: size, began: time.Now(), every: 5 * time.Second}
	if terminal.Movable(a.err) {
		p.movable, p.every = true, 100*time.Millisecond
	}
	p.next = p.began.Add(p.every)
	return p
}

func (p *progress) show(at replay.Progress) {
	now := time.Now()
	if p.app.quiet || now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every)
	text := fmt.Sprintf("%d lines, %.0f a second, at %s", at.Lines, float64(at.Lines)/now.Sub(p.began).Seconds(), at.At.Format("2006-01-02 15:04:05"))
	if p.size > 0 {
		text = fmt.Sprintf("%s %3.0f %%  %s", p.bar(at.Bytes), 100*p.part(at.Bytes), text)
	}
	if p.movable {
		fmt.Fprintf(p.app.err, "\r%s\x1b[K", text)
		p.changing = true
		return
	}
	p.app.note("%s", strings.TrimSpace(text))
}

func (p *progress) part(bytes int64) float64 { return min(1, float64(bytes)/float64(p.size)) }

// bar returns a bar for a terminal, and "" otherwise.
func (p *progress) bar(bytes int64) string {
	if !p.movable {
		return ""
	}
	const width = 24
	done := int(p.part(bytes) * width)
	return "[" + strings.Repeat("#", done) + strings.Repeat(".", width-done) + "]"
}

// end removes the line.
func (p *progress) end() {
	if p.changing {
		fmt.Fprint(p.app.err, "\r\x1b[K")
	}
}
