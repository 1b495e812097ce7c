package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const interpreter = "/usr/bin/python3" // Debian's, which sees python3-redis

// The program in Python shares the account's limits and pauses with guard.
func TestPython_sharesTheAccount(t *testing.T) {
	if err := exec.Command(interpreter, "-c", "import redis").Run(); err != nil {
		onpath.Lacking(t, "%s lacks redis: %v", interpreter, err)
	}
	answers := []int{http.StatusOK, http.StatusTooManyRequests}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	defer upstream.Close()
	server := embedded.New(embedded.Options{})
	defer server.Close()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("limits.yaml", limits)
	if err != nil {
		t.Fatal(err)
	}
	p.Upstreams[0].MaxWait = new(time.Minute)
	g, err := guard.New(server, p, guard.Options{CacheSize: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Pause(t.Context(), "account=llm/other", time.Second); err != nil { // loads the library
		t.Fatal(err)
	}
	acquire := func() (*guard.Decision, error) { return g.Acquire(t.Context(), guard.Request{Endpoint: "llm"}) }
	d, err := acquire()
	if err != nil {
		t.Fatal(err)
	}
	d.Charge.End(t.Context(), guard.End{})
	clients, err := filepath.Abs("../../gen/python")
	if err != nil {
		t.Fatal(err)
	}
	python := func() (string, error) {
		c := exec.CommandContext(t.Context(), interpreter, "outbound.py", "redis://"+addr.String(), upstream.URL)
		c.Env = append(os.Environ(), "PYTHONPATH="+clients, "PYTHONDONTWRITEBYTECODE=1")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := python(); err != nil {
		t.Fatal(out, err)
	}
	if d, err = acquire(); err != nil || d.Limits[0].Remaining != 57 {
		t.Fatalf("after a call by guard, one by Python, and one by guard: %v %v", d, err)
	}
	d.Charge.End(t.Context(), guard.End{})
	if out, err := python(); err == nil || !strings.Contains(out, "429") {
		t.Fatal(out, err)
	}
	var refused *guard.RefusedError
	if _, err = acquire(); !errors.As(err, &refused) || refused.Decision.Reason != guard.ReasonBlocked || refused.Decision.RetryAfter < 500*time.Second {
		t.Errorf("after a pause that Python learned: %v", err)
	}
	if out, err := python(); err == nil || !strings.Contains(out, "is refused by blocked") {
		t.Error(out, err)
	}
}
