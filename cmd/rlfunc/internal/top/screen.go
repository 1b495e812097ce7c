package top

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// A Source returns the latest report.
type Source func(context.Context) (report.Interval, error)

// A screen is the full-screen view.
type screen struct {
	ctx       context.Context
	source    Source
	namespace string
	every     time.Duration
	style     terminal.Style

	in            report.Interval
	err           error
	byName        bool
	paused        bool
	width, height int
}

type reported struct {
	in  report.Interval
	err error
}

type tick struct{}

// Run shows the view until the operator quits. It returns an error if ctx ends first, or if the operator interrupts it.
func Run(ctx context.Context, source Source, namespace string, every time.Duration, style terminal.Style) error {
	_, err := tea.NewProgram(newScreen(ctx, source, namespace, every, style), tea.WithContext(ctx), tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrInterrupted): // by Ctrl-C, for which the terminal sends no signal meanwhile
		return exitcode.Interrupted
	}
	return err
}

func newScreen(ctx context.Context, source Source, namespace string, every time.Duration, style terminal.Style) screen {
	return screen{ctx: ctx, source: source, namespace: namespace, every: every, style: style, width: 80, height: 24}
}

func (s screen) Init() tea.Cmd { return s.read }

func (s screen) read() tea.Msg {
	in, err := s.source(s.ctx)
	return reported{in, err}
}

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case tick:
		return s, s.read
	case reported:
		if !s.paused {
			s.err = msg.err
			if msg.err == nil {
				s.in = msg.in
			}
		}
		return s, tea.Tick(s.every, func(time.Time) tea.Msg { return tick{} })
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "esc":
			return s, tea.Quit
		case "ctrl+c":
			return s, tea.Interrupt
		case "p", "space":
			s.paused = !s.paused
		case "s":
			s.byName = !s.byName
		}
	}
	return s, nil
}

func (s screen) View() tea.View {
	v := tea.NewView(s.text())
	v.AltScreen = true
	return v
}

func (s screen) text() string {
	in := s.in
	if s.byName {
		in.Subjects, in.Limits = byName(in.Subjects), byName(in.Limits)
	}
	lines := Lines(in, s.namespace, max((s.height-12)/2, 1), s.width, s.style)
	order, state := "count", ""
	if s.byName {
		order = "name"
	}
	if s.paused {
		state = "  PAUSED"
	}
	if s.err != nil {
		lines = append(lines, "", s.style.Red(s.err.Error()))
	}
	for len(lines) < s.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:min(len(lines), max(s.height-1, 1))], s.style.Dim("q quit   s sort (by "+order+")   p pause")+s.style.Bold(state))
	return strings.Join(lines, "\n")
}

func byName(counts []report.Count) []report.Count {
	counts = slices.Clone(counts)
	slices.SortFunc(counts, func(a, b report.Count) int { return strings.Compare(a.Name, b.Name) })
	return counts
}
