package top

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

var evening = report.Interval{
	Format: 1, Merged: 3, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Seconds: 5, Requests: 1000, Refused: 250,
	Subjects: []report.Count{{Name: "key=z", N: 200}, {Name: "key=a\x1b[2J", N: 50, Over: 3}},
	Limits:   []report.Count{{Name: "chat minute", N: 250}}, Unreadable: []string{"shop:{report}:x\x1b"},
}

func view(t *testing.T, m tea.Model, want string, not ...string) {
	t.Helper()
	text := m.View().Content
	if !strings.Contains(text, want) {
		t.Errorf("does not show %q:\n%s", want, text)
	}
	for _, n := range not {
		if strings.Contains(text, n) {
			t.Errorf("shows %q:\n%s", n, text)
		}
	}
}

func TestScreen_sortsPausesAndQuits(t *testing.T) {
	var m tea.Model = newScreen(t.Context(), func(context.Context) (report.Interval, error) { return evening, nil }, "shop", time.Second, terminal.Plain())
	key := func(k string) tea.Cmd {
		var cmd tea.Cmd
		m, cmd = m.Update(tea.KeyPressMsg{Code: rune(k[0]), Text: k})
		return cmd
	}
	view(t, m, "no guard of namespace shop reports")
	m, _ = m.Update(m.Init()())
	view(t, m, "shop  3 processes, 03:04:00 to 03:04:05 UTC", "\x1b")
	view(t, m, "200 requests/s   50 refused/s (25.0 %)")
	view(t, m, "REFUSALS  PER SEC", "REFUSED A SECOND")
	view(t, m, "key=z")
	view(t, m, `key "shop:{report}:x\x1b" holds no report of format 1`)
	view(t, m, "~      50     10.0 ####")
	if a, z := strings.Index(m.View().Content, "key=a"), strings.Index(m.View().Content, "key=z"); a < z {
		t.Error("not by count")
	}
	key("s")
	if a, z := strings.Index(m.View().Content, "key=a"), strings.Index(m.View().Content, "key=z"); a > z {
		t.Error("not by name")
	}
	key("p")
	view(t, m, "PAUSED")
	m, _ = m.Update(reported{in: report.Interval{Merged: 9}})
	view(t, m, "3 processes")
	key("p")
	m, _ = m.Update(reported{err: errors.New("connection refused")})
	view(t, m, "connection refused")
	view(t, m, "3 processes")
	m, _ = m.Update(tea.WindowSizeMsg{Width: 80, Height: 14})
	if n := strings.Count(m.View().Content, "\n") + 1; n > 14 {
		t.Errorf("%d lines on a screen of 14", n)
	}
	view(t, m, "and 1 more")
	if cmd := key("q"); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not quit")
	}
	if _, cmd := m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); cmd == nil || cmd() != tea.Interrupt() {
		t.Error("Ctrl-C does not interrupt")
	}
}
