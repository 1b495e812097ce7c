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
	app     *app
	size    int64 // of the log; 0 if unknown
	began   time.Time
	next    time.Time
	every   time.Duration
	movable bool
}

func (a *app) newProgress(size int64) *progress {
	p := &progress{app: a, size: size, began: time.Now(), every: 5 * time.Second, movable: terminal.Movable(a.err)}
	if p.movable {
		p.every = 100 * time.Millisecond
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
	text := fmt.Sprintf("%d lines, %.0f per second, at %s", at.Lines, float64(at.Lines)/now.Sub(p.began).Seconds(), at.At.Format("2006-01-02 15:04:05"))
	if p.size > 0 {
		part := min(1, float64(at.Bytes)/float64(p.size))
		text = fmt.Sprintf("%3.0f %%  %s", 100*part, text)
		if p.movable {
			const width = 24
			done := int(part * width)
			text = "[" + strings.Repeat("#", done) + strings.Repeat(".", width-done) + "] " + text
		}
	}
	if p.movable {
		fmt.Fprintf(p.app.err, "\r%s\x1b[K", text)
		return
	}
	p.app.note("%s", strings.TrimSpace(text))
}

// end removes the line.
func (p *progress) end() {
	if p.movable && !p.app.quiet {
		fmt.Fprint(p.app.err, "\r\x1b[K")
	}
}
