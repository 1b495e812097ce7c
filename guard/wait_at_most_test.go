package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestWaitAtMost_admitsWhatThereIsRoomFor(t *testing.T) {
	rdb, clock := inProcess(t)
	p := chat(
		policy.Limit{Name: "second", Kind: policy.GCRA, Limit: 20, Window: time.Second, Burst: 10},
		policy.Limit{Name: "hour", Kind: policy.FixedWindow, Limit: 100, Window: time.Hour},
		policy.Limit{Name: "calls", Kind: policy.SlidingLog, Limit: 4, Window: time.Hour},
	)
	g := newGuard(t, rdb, p, guard.Options{})
	var admitted []int64
	for _, weight := range []int64{50, 3, 0} { // the burst is 10, then there is one after 50 ms
		if len(admitted) > 0 {
			time.AfterFunc(10*time.Millisecond, func() { clock.Advance(50 * time.Millisecond) })
		}
		d, n, err := g.WaitAtMost(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: weight})
		if err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		admitted = append(admitted, n)
	}
	if diff := cmp.Diff([]int64{10, 1, 1}, admitted); diff != "" {
		t.Errorf("admitted (-want +got)\n%s", diff)
	}
	d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}, Weight: 7})
	if err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	d, n, err := g.WaitAtMost(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}, Weight: 10})
	if err != nil || !d.Allowed || n != 3 {
		t.Errorf("admitted %d of 3: %+v, %v", n, d, err)
	}
}

func TestWaitAtMost_ofLimitsThatCostMore(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "tokens", Kind: policy.FixedWindow, Limit: 100, Window: time.Hour, Cost: 7}), guard.Options{})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: 10}
	for _, want := range []int64{10, 4} { // of 14
		d, n, err := g.WaitAtMost(t.Context(), r)
		if err != nil || !d.Allowed || n != want {
			t.Errorf("admitted %d, want %d: %+v, %v", n, want, d, err)
		}
	}
}

func TestWaitAtMost_rejects(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Kind: policy.FixedWindow, Limit: 1, Window: time.Minute}), guard.Options{MaxWait: time.Second})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: -1}
	if _, n, err := g.WaitAtMost(t.Context(), r); n != 0 || !errors.Is(err, fcall.ErrArgument) {
		t.Errorf("a negative weight: %d, %v", n, err)
	}
	r.Weight = 5
	if _, n, err := g.WaitAtMost(t.Context(), r); n != 1 || err != nil {
		t.Errorf("at first: %d, %v", n, err)
	}
	if d, n, err := g.WaitAtMost(t.Context(), r); n != 0 || err == nil || d == nil || d.Allowed {
		t.Errorf("with nothing left within a second: %d, %+v, %v", n, d, err)
	}
	if _, _, err := g.WaitAtMost(t.Context(), guard.Request{Endpoint: "chats"}); !errors.Is(err, guard.ErrEndpoint) {
		t.Errorf("an endpoint that is not there: %v", err)
	}
}
