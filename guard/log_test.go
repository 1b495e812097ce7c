package guard_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// logged records slog's default logger.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func listen(t *testing.T) *logged {
	t.Helper()
	before, l := slog.Default(), new(logged)
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return l
}

// Without hooks, guard logs failures and policies, at most once a second for each kind.
func TestGuard_logsFailuresWithoutHooks(t *testing.T) {
	l := listen(t)
	g := newGuard(t, client(t, closedPort(t)), chat(policy.Limit{Name: "minute", Limit: 5, Window: time.Minute}), guard.Options{})
	began := time.Now()
	for range 200 {
		decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	}
	if err := g.SetPolicy(chat(policy.Limit{Name: "minute"})); err == nil {
		t.Fatal("a limit without a window is valid")
	}
	if err := g.SetPolicy(chat(policy.Limit{Name: "minute", Limit: 6, Window: time.Minute})); err != nil {
		t.Fatal(err)
	}
	most := 1 + int(time.Since(began)/time.Second)
	if n := l.count("failure mode applied"); n < 1 || n > most {
		t.Errorf("200 requests without Redis are logged %d times in %v:\n%s", n, time.Since(began), &l.text)
	}
	for _, part := range []string{"circuit breaker changed", "open=true", "policy not replaced", `level=INFO msg="guard: policy replaced"`, "cause=", "endpoint=chat"} {
		if l.count(part) == 0 {
			t.Errorf("no %q in\n%s", part, &l.text)
		}
	}
}

func TestGuard_logsNothingWithHooks(t *testing.T) {
	l := listen(t)
	reloads := 0
	g := newGuard(t, client(t, closedPort(t)), chat(policy.Limit{Name: "minute", Limit: 5, Window: time.Minute}), guard.Options{Hooks: []guard.Hooks{{
		Reloaded: func(error) { reloads++ },
	}}})
	decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	_ = g.SetPolicy(chat(policy.Limit{Name: "minute"}))
	if n := l.count("guard:"); n > 0 || reloads != 1 {
		t.Errorf("%d reloads, and logged:\n%s", reloads, &l.text)
	}
}
