package guard_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestDecide_shadowLimitReportsAndNeverRefuses(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(
		policy.Limit{Name: "minute", Limit: 100, Window: time.Minute},
		policy.Limit{Name: "strict", Limit: 2, Window: time.Minute, Shadow: true},
	), guard.Options{})
	refusing := 0
	for range 5 {
		d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
		if !d.Allowed {
			t.Fatalf("refused: %+v", d)
		}
		if !d.Limits[1].Allowed {
			refusing++
		}
	}
	if refusing != 3 {
		t.Errorf("a shadow limit of 2 would have refused %d of 5", refusing)
	}
}

func TestShadow_comparesBothPolicies(t *testing.T) {
	rdb, _ := inProcess(t)
	strict := chat(policy.Limit{Name: "minute", Limit: 2, Window: time.Minute})
	strict.Namespace, strict.Timeout = "strict", 10*time.Second
	var calls atomic.Int64
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 4, Window: time.Minute}), guard.Options{
		CacheSize: -1, Shadow: &guard.Shadow{Policy: strict},
		Hooks: []guard.Hooks{{Shadowed: func(context.Context, guard.Event, guard.Event) { calls.Add(1) }}},
	})
	for range 5 {
		decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	}
	if err := g.Close(); err != nil { // waits for the shadow
		t.Fatal(err)
	}
	want := guard.ShadowReport{Outcomes: []guard.Difference{
		{Endpoint: "chat", Live: "allowed", Shadow: "allowed", Count: 2},
		{Endpoint: "chat", Live: "allowed", Shadow: "limit", Count: 2},
		{Endpoint: "chat", Live: "limit", Shadow: "limit", Count: 1},
	}}
	if diff := cmp.Diff(want, g.ShadowReport()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if calls.Load() != 5 {
		t.Errorf("the hook ran %d of 5 times", calls.Load())
	}
}

func TestShadow_rejectsTheLiveNamespace(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "minute", Limit: 4, Window: time.Minute})
	if _, err := guard.New(rdb, p, guard.Options{Shadow: &guard.Shadow{Policy: p}}); err == nil {
		t.Error("a shadow with the live namespace is valid")
	}
}

func TestWait_passesOnceThereIsRoom(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute})
	g := newGuard(t, rdb, p, guard.Options{})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	if d, err := g.Wait(t.Context(), r); err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began := time.Now()
	d, err := g.Wait(ctx, r)
	if err == nil || d == nil || d.Allowed || time.Since(began) > 15*time.Second {
		t.Errorf("passes in a minute, deadline in 20 s: %+v, %v after %v", d, err, time.Since(began))
	}
}

func TestShadow_defaultsToTheLivePolicy(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute})
	g := newGuard(t, rdb, p, guard.Options{CacheSize: -1, Shadow: &guard.Shadow{Channel: "canary"}})
	for range 3 {
		decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	}
	if err := g.SetPolicy(g.Policy()); err != nil {
		t.Errorf("the live policy is rejected: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	want := guard.ShadowReport{Outcomes: []guard.Difference{
		{Endpoint: "chat", Live: "limit", Shadow: "limit", Count: 2},
		{Endpoint: "chat", Live: "allowed", Shadow: "allowed", Count: 1},
	}}
	if diff := cmp.Diff(want, g.ShadowReport()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
