package guard

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// testBreakers returns breakers and a function that lists their changes.
func testBreakers(after int, rest time.Duration) (*breakers, func() []string) {
	var mu sync.Mutex
	var changes []string
	bs := &breakers{minLost: after, openFor: rest, onChange: func(node string, open bool) {
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

func callOnce(bs *breakers, node string, err error) bool {
	permit, ok := bs.allow(node)
	if ok {
		permit.done(err)
	}
	return ok
}

func TestBreakers_areIndependent(t *testing.T) {
	bs, changes := testBreakers(5, time.Hour)
	for range 5 {
		callOnce(bs, "a", ErrTimeout)
		callOnce(bs, "b", nil)
	}
	if callOnce(bs, "a", nil) || !callOnce(bs, "b", nil) {
		t.Error("a stays closed, or b opened")
	}
	if got := changes(); !slices.Equal(got, []string{"a true"}) {
		t.Error(got)
	}
}

func TestBreakers_stayClosedIfFewCallsAreLost(t *testing.T) {
	bs, changes := testBreakers(5, time.Hour)
	for range 100 {
		callOnce(bs, "", nil)
	}
	for range 64 { // calls that shared a connection
		callOnce(bs, "", ErrTimeout)
	}
	if !callOnce(bs, "", nil) || len(changes()) > 0 {
		t.Error("64 of 164 lost calls opened it")
	}
	for range 100 {
		callOnce(bs, "", ErrTimeout)
	}
	if callOnce(bs, "", nil) {
		t.Error("still closed though most calls are lost")
	}
}

func TestBreakers_allowOneTrialCall(t *testing.T) {
	const rest = 20 * time.Millisecond
	bs, changes := testBreakers(1, rest)
	callOnce(bs, "", ErrTimeout)
	if callOnce(bs, "", nil) {
		t.Fatal("it is not open")
	}
	time.Sleep(rest)
	first, ok := bs.allow("")
	if _, second := bs.allow(""); !ok || second {
		t.Fatalf("trial call allowed: %v, a second one: %v", ok, second)
	}
	first.abandon()
	if !callOnce(bs, "", ErrTimeout) || callOnce(bs, "", nil) {
		t.Fatal("no trial call after an abandoned one, or its failure is ignored")
	}
	time.Sleep(rest)
	for i := range 2 {
		if !callOnce(bs, "", nil) {
			t.Errorf("call %d: it stays open though the node answers", i+1)
		}
	}
	if got := changes(); !slices.Equal(got, []string{" true", " false"}) {
		t.Errorf("changes: %q", got)
	}
}
