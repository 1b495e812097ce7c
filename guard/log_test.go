package guard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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

// Without observers, guard logs failures and policies, at most once a second for each kind.
func TestGuard_logsFailuresWithoutObservers(t *testing.T) {
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
	for _, part := range []string{`level=WARN msg="guard: circuit breaker opened"`, "policy not replaced", `level=INFO msg="guard: policy replaced"`, "cause=", "endpoint=chat"} {
		if l.count(part) == 0 {
			t.Errorf("no %q in\n%s", part, &l.text)
		}
	}
}

// Watch reads the file that the service has just loaded. That replaces nothing.
func TestGuard_reportsOnlyPoliciesThatItReplaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits.yaml")
	write := func(limit int) {
		text := fmt.Sprintf("version: 1\ntimeout: 10s\nendpoints: [{name: chat, limits: [{name: minute, limit: %d, window: 1m}]}]\n", limit)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(5)
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	rdb, _ := inProcess(t)
	reports := make(chan error, 9)
	observed := newGuard(t, rdb, p, guard.Options{Observers: on(func(e guard.Reloaded) { reports <- e.Err })})
	l, logging := listen(t), newGuard(t, rdb, p, guard.Options{})
	for _, g := range []*guard.Guard{observed, logging} {
		g.Watch(t.Context(), file)
	}
	if n := l.count("policy replaced"); n > 0 || len(reports) > 0 {
		t.Errorf("at the start, a policy is replaced %d times in the log, and %d times for observers", n, len(reports))
	}
	for _, step := range []struct {
		limit int
		fails bool
	}{{6, false}, {0, true}, {6, false}} { // the last one ends the failure
		write(step.limit)
		select {
		case err := <-reports:
			var wrong *policy.Error
			if errors.As(err, &wrong) != step.fails || step.fails && !strings.HasPrefix(err.Error(), file+":3:") {
				t.Errorf("limit %d: %v", step.limit, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("limit %d is not reported", step.limit)
		}
	}
	for deadline := time.Now().Add(time.Minute); l.count("policy replaced") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a new policy is not logged:\n%s", &l.text)
		}
	}
}

func TestGuard_logsRequestsThatNoLimitCounts(t *testing.T) {
	l := listen(t)
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 5, Window: time.Minute}), guard.Options{})
	if d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat"}); err == nil {
		t.Fatalf("%+v", d)
	}
	if l.count("a peer on a Unix socket has no address") != 1 {
		t.Errorf("logged:\n%s", &l.text)
	}
}

func TestGuard_logsNoWholeSubject(t *testing.T) {
	l := listen(t)
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{})
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.77"}})
	rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, _ func([]redis.Cmder) error) error {
		for _, cmd := range cmds {
			cmd.SetErr(io.ErrUnexpectedEOF)
		}
		return io.ErrUnexpectedEOF
	}))
	d.Charge.End(t.Context(), guard.End{})
	decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.77"}})
	guard.WaitBackground(g)
	if l.count("reservation not settled") != 1 || l.count("failure mode applied") != 1 || l.count("203.0.113") != 0 {
		t.Errorf("logged:\n%s", &l.text)
	}
}

func TestGuard_logsNothingWithObservers(t *testing.T) {
	l := listen(t)
	reloads := 0
	g := newGuard(t, client(t, closedPort(t)), chat(policy.Limit{Name: "minute", Limit: 5, Window: time.Minute}), guard.Options{Observers: on(func(guard.Reloaded) { reloads++ })})
	decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	_ = g.SetPolicy(chat(policy.Limit{Name: "minute"}))
	if n := l.count("guard:") - l.count("guard: set ContextTimeoutEnabled"); n > 0 || reloads != 1 { // no event: it is about the service's code
		t.Errorf("%d reloads, and logged:\n%s", reloads, &l.text)
	}
}

// If nothing listens, the log says so, and not that Redis was slow. go-redis dials again for longer than a decision waits.
func TestGuard_logsWhyRedisCannotBeReached(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		l := listen(t)
		refused := redis.UniversalClient(redis.NewClient(&redis.Options{Addr: closedPort(t)}))
		t.Cleanup(func() { _ = refused.Close() })
		if _, clustered := rdb.(manySlots); clustered {
			refused = manySlots{refused.(*redis.Client)}
		}
		p := chat(policy.Limit{Name: "minute", Limit: 5, Window: time.Minute})
		p.Timeout = 50 * time.Millisecond
		g := newGuard(t, refused, p, guard.Options{BreakFor: 100 * time.Millisecond})
		const reason = "connect: connection refused"
		for deadline := time.Now().Add(20 * time.Second); l.count(reason) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no %q in\n%s", reason, &l.text)
			}
			d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
			if strings.Contains(d.Cause.Error(), reason) && errors.Is(d.Cause, guard.ErrBreaker) {
				break // logged at most once a second
			}
		}
		if n := l.count("did not answer"); n > 0 {
			t.Errorf("the log blames the server's speed:\n%s", &l.text)
		}
	})
}

// A subject whose identity the policy does not define passes with the other limits only, which is logged, or is an error on request.
func TestGuard_logsUndefinedIdentities(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := func() *policy.Policy {
			p := chat(byAll(policy.Limit{Name: "all", Limit: 1000, Window: time.Minute})...)
			p.Identities = map[string]policy.Identity{"user": {Func: true}, "client": {First: []string{"user", "ip"}}}
			return p
		}
		for _, subject := range []string{"usr=ada", "client=ada"} {
			l := listen(t)
			g := newGuard(t, rdb, p(), guard.Options{})
			began := time.Now()
			for range 100 {
				decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"user=ada", "ip=203.0.113.7", subject}})
			}
			name, value, _ := strings.Cut(subject, "=")
			most := 1 + int(time.Since(began)/time.Second)
			if n := l.count("identity=" + name); n < 1 || n > most || l.count(value) > 0 {
				t.Errorf("%s is logged %d times, want 1 to %d:\n%s", name, n, most, &l.text)
			}
		}
		l := listen(t)
		decide(t, newGuard(t, rdb, p(), guard.Options{}), guard.Request{Endpoint: "chat", Subjects: []string{"user=ada", "ip=203.0.113.7"}})
		if n := l.count("does not define"); n > 0 {
			t.Errorf("defined identities are logged:\n%s", &l.text)
		}
	})
}
