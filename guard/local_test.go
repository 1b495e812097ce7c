package guard_test

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
	"weak"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// alone returns a guard that decides everything by failure mode local, with little memory.
func alone(t *testing.T, p *policy.Policy, bytes int64) *guard.Guard {
	t.Helper()
	o := guard.Options{BreakAfter: 1, BreakFor: time.Hour, LocalBytes: bytes}
	g := newGuard(t, client(t, closedPort(t)), p, o.WithLocalClock(embedded.NewManualClock(moment)))
	t.Cleanup(func() { ended = append(ended, weak.Make(g)) })
	return g
}

// ended are the guards that earlier tests had alone.
var ended []weak.Pointer[guard.Guard]

func localPolicies() map[string]*policy.Policy {
	limit := func(kind policy.Kind) *policy.Policy {
		return chat(policy.Limit{Name: "hour", Kind: kind, Limit: 12, Window: time.Hour, OnFailure: policy.Local, Share: 0.25})
	}
	all := map[string]*policy.Policy{}
	for _, kind := range []policy.Kind{policy.SlidingLog, policy.SlidingCounter, policy.FixedWindow, policy.GCRA} {
		all[string(kind)] = limit(kind)
	}
	money := budgeted()
	money.Cost.OnFailure = policy.Local
	all["budget"] = money
	abuse := limit(policy.GCRA)
	abuse.Abuse = &policy.Abuse{Tiers: []policy.Tier{{Threshold: 5, Window: time.Hour, Block: time.Hour}}, OnFailure: policy.Local}
	abuse.Endpoints[0].Abuse = policy.CountAll
	all["attempts"] = abuse
	return all
}

func TestDecide_localEvictsTheLeastRecentlyUsed(t *testing.T) {
	for name, p := range localPolicies() {
		t.Run(name, func(t *testing.T) {
			g := alone(t, p, 512<<10)
			ask := func(subject string) *guard.Decision {
				return decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{subject}})
			}
			for i := range 4000 {
				if d := ask("ip=" + strconv.Itoa(i)); !d.Allowed {
					t.Fatalf("subject %d at its first request: %+v", i, d)
				}
				if i%100 == 0 {
					if d := ask("ip=ada"); d.Allowed != (i/100 < taken(name)) {
						t.Fatalf("a subject that is used again and again, at its request %d: %+v", i/100+1, d)
					}
				}
			}
			if d := ask("ip=0"); !d.Allowed || left(d) != left(ask("ip=fresh")) {
				t.Errorf("an evicted subject: %+v", d)
			}
		})
	}
}

// taken returns how often a subject may pass.
func taken(name string) int {
	switch name {
	case "budget":
		return 2 // 0.10 of a quarter of 1.00
	}
	return 3
}

func left(d *guard.Decision) int64 {
	if len(d.Budgets) > 0 {
		return int64(d.Budgets[0].Remaining)
	}
	return d.Limits[0].Remaining
}

// TestDecide_localStaysWithinLocalBytes measures the live heap. The engine itself takes 3 MiB, less where it shares its compiled library
// with the engine of an earlier guard, and then the subjects may take less than their bound: 3/4 of it at least.
func TestDecide_localStaysWithinLocalBytes(t *testing.T) {
	onpath.Full(t)
	const bytes, engine = 6 << 20, 3 << 20
	for name, p := range localPolicies() {
		var full int64
		t.Run(name, func(t *testing.T) {
			g := alone(t, p, bytes)
			for i := range 25_000 {
				decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=2001:db8::" + strconv.Itoa(i)}})
			}
			full = heap(t)
			runtime.KeepAlive(g)
		})
		// Not compared with the heap before, where much of the tests before this one may be left.
		if took := full - heap(t); took > bytes+engine || took < bytes*3/4 {
			t.Errorf("%s: %d KiB of heap with %d KiB for subjects", name, took>>10, bytes>>10)
		}
	}
}

// heap returns the live bytes, once the guards of earlier tests are freed and the bytes shrink no more.
func heap(t *testing.T) int64 {
	t.Helper()
	start := time.Now()
	for freed := func(g weak.Pointer[guard.Guard]) bool { return g.Value() == nil }; len(ended) > 0; ended = slices.DeleteFunc(ended, freed) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d guards are still in memory", len(ended))
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	least, same := int64(math.MaxInt64), 0
	for same < 5 {
		runtime.GC()
		runtime.GC() // frees pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		same++
		if live := int64(m.HeapAlloc); live < least-64<<10 {
			least, same = live, 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	return least
}
