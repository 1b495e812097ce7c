package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// FLUSHALL takes the keys and leaves the functions: no call fails, and a subject may have its limit once more.
func TestFlushAll_admitsTheLimitOnceMore(t *testing.T) {
	onEach(t, func(t *testing.T, m *engines.Member) {
		tr := begin(t, to(t, m))
		tr.awaitAnswers(t, 1000)
		do(t, m, "FLUSHALL")
		tr.awaitAnswers(t, 1000)
		r := tr.end(t)
		r.none(t)
		r.destroyed(t, 1)
		if r.Overshoot["gcra"] == 0 {
			t.Errorf("no overshoot is seen of state that is gone: %s", r)
		}
	})
}

// A server that saves nothing comes back empty: calls fail until it listens, then load the libraries by themselves.
func TestRestart_withoutPersistence(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	tr := begin(t, to(t, m))
	tr.awaitAnswers(t, 1000)
	m.Kill()
	m.Restart(t)
	tr.awaitAnswers(t, 1000)
	r := tr.end(t)
	r.only(t, notBegun, cutOff, noTime)
	r.destroyed(t, 1)
	holds(t, m, len(libraries))
}

// A policy that evicts takes keys while they count, to make room for another client's data. Status has warned of it.
func TestEviction_admitsForgottenClientsAgain(t *testing.T) {
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			m := engines.OnPath(t).Start(t, "--maxmemory-policy", policy)
			admin := m.Client(t)
			tr := begin(t, to(t, m))
			tr.awaitAnswers(t, 1000)
			do(t, m, "CONFIG", "SET", "maxmemory", info(t, admin, "used_memory")+1<<20)
			d, err := loader.NewTarget(admin).Status(t.Context())
			if err != nil || !slices.ContainsFunc(d.Findings, func(f loader.Warning) bool { return f.ID == "eviction" }) {
				t.Errorf("status finds %+v and %v, and warns of no eviction", d, err)
			}
			page := strings.Repeat("x", 10<<10)
			for i := 0; info(t, admin, "evicted_keys") < 300; i++ {
				if err := admin.Set(t.Context(), fmt.Sprint("page:", i), page, 10*window).Err(); err != nil {
					t.Fatal(err)
				}
			}
			tr.awaitAnswers(t, 1000)
			r := tr.end(t)
			r.none(t)
			r.possible(t)
			if r.Overshoot["sliding_log"] == 0 {
				t.Errorf("no overshoot is seen of what was evicted: %s", r)
			}
		})
	}
}

// info is a number of INFO.
func info(t *testing.T, c *redis.Client, field string) int {
	t.Helper()
	text, err := c.Info(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "\n"+field+":")
	number, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("INFO has no number %s: %v", field, err)
	}
	return n
}

func poll(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s: %v", what, err)
		}
		time.Sleep(time.Millisecond)
	}
}
