package decide

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// breakers returns breakers and a function that lists their changes.
func breakers(after int, rest time.Duration) (*Breakers, func() []string) {
	var mu sync.Mutex
	var changes []string
	bs := &Breakers{MinLost: after, OpenFor: rest, OnChange: func(node string, open bool) {
		mu.Lock()
		defer mu.Unlock()
		changes = append(changes, fmt.Sprintf("%s %v", node, open))
	}}
	return bs, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(changes)
	}
}

func call(bs *Breakers, node string, err error) bool {
	permit, ok := bs.Allow(node)
	if ok {
		permit.Done(err)
	}
	return ok
}

func TestBreakers_areIndependent(t *testing.T) {
	bs, changes := breakers(5, time.Hour)
	for range 5 {
		call(bs, "a", ErrTimeout)
		call(bs, "b", nil)
	}
	if call(bs, "a", nil) || !call(bs, "b", nil) {
		t.Error("a stays closed, or b opened")
	}
	if got := changes(); !slices.Equal(got, []string{"a true"}) {
		t.Error(got)
	}
}

func TestBreakers_stayClosedIfFewCallsAreLost(t *testing.T) {
	bs, changes := breakers(5, time.Hour)
	for range 100 {
		call(bs, "", nil)
	}
	for range 64 { // calls that shared a connection
		call(bs, "", ErrTimeout)
	}
	if !call(bs, "", nil) || len(changes()) > 0 {
		t.Error("64 of 164 lost calls opened it")
	}
	for range 100 {
		call(bs, "", ErrTimeout)
	}
	if call(bs, "", nil) {
		t.Error("still closed though most calls are lost")
	}
}

func TestBreakers_allowOneTrialCall(t *testing.T) {
	const rest = 20 * time.Millisecond
	bs, changes := breakers(1, rest)
	call(bs, "", ErrTimeout)
	if call(bs, "", nil) {
		t.Fatal("it is not open")
	}
	time.Sleep(rest)
	first, ok := bs.Allow("")
	if _, second := bs.Allow(""); !ok || second {
		t.Fatalf("trial call allowed: %v, a second one: %v", ok, second)
	}
	first.Abandon()
	if !call(bs, "", ErrTimeout) || call(bs, "", nil) {
		t.Fatal("no trial call after an abandoned one, or its failure is ignored")
	}
	time.Sleep(rest)
	for i := range 2 {
		if !call(bs, "", nil) {
			t.Errorf("call %d: it stays open though the node answers", i+1)
		}
	}
	if got := changes(); !slices.Equal(got, []string{" true", " false"}) {
		t.Errorf("changes: %q", got)
	}
}
