package fallback_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/ask"
	"github.com/rlfunc/rlfunc/guard/internal/fallback"
)

// breakers are some that note their changes.
func breakers(after int, rest time.Duration) (*fallback.Breakers, func() []string) {
	var mu sync.Mutex
	var changes []string
	bs := &fallback.Breakers{After: after, For: rest, Changed: func(node string, open bool) {
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

func call(bs *fallback.Breakers, node string, err error) bool {
	pass, ok := bs.Allow(node)
	if ok {
		pass.Done(err)
	}
	return ok
}

func TestBreakers_eachNodeHasItsOwn(t *testing.T) {
	bs, changes := breakers(5, time.Hour)
	for range 5 {
		call(bs, "a", ask.ErrTimeout)
		call(bs, "b", nil)
	}
	if call(bs, "a", nil) || !call(bs, "b", nil) {
		t.Error("a is asked, or b is not")
	}
	if got := changes(); !slices.Equal(got, []string{"a true"}) {
		t.Error(got)
	}
}

func TestBreakers_aFewLostOfManyOpenNothing(t *testing.T) {
	bs, changes := breakers(5, time.Hour)
	for range 100 {
		call(bs, "", nil)
	}
	for range 64 { // a connection that many calls shared
		call(bs, "", ask.ErrTimeout)
	}
	if !call(bs, "", nil) || len(changes()) > 0 {
		t.Error("64 of 164 lost calls opened it")
	}
	for range 100 {
		call(bs, "", ask.ErrTimeout)
	}
	if call(bs, "", nil) {
		t.Error("it is closed though most calls are lost")
	}
}

func TestBreakers_whatIsNoLostServer(t *testing.T) {
	bs, changes := breakers(1, time.Hour)
	for _, err := range []error{
		&fcall.UnavailableError{Code: "OOM"}, &fcall.UnavailableError{Code: "NOPERM"}, &fcall.UnavailableError{Code: "MISCONF"},
		&fcall.ScriptError{}, &fcall.NotLoadedError{}, &fcall.StateError{}, &fcall.ArgumentError{},
	} {
		if !call(bs, "", err) {
			t.Errorf("before %v it was opened", err)
		}
	}
	if len(changes()) > 0 {
		t.Error(changes())
	}
	for _, err := range []error{
		ask.ErrTimeout, &fcall.UnavailableError{Cause: context.DeadlineExceeded}, &fcall.UnavailableError{Code: "LOADING"}, &fcall.UnavailableError{Code: "CLUSTERDOWN"},
		&fcall.OutcomeError{Cause: context.DeadlineExceeded},
	} {
		bs, _ := breakers(1, time.Hour)
		if call(bs, "", err); call(bs, "", nil) {
			t.Errorf("%v does not open it", err)
		}
	}
}

func TestBreakers_oneCallTriesAgain(t *testing.T) {
	const rest = 20 * time.Millisecond
	bs, changes := breakers(1, rest)
	call(bs, "", ask.ErrTimeout)
	if call(bs, "", nil) {
		t.Fatal("it is not open")
	}
	time.Sleep(rest)
	first, ok := bs.Allow("")
	if _, second := bs.Allow(""); !ok || second {
		t.Fatalf("the first may try: %v, and a second one: %v", ok, second)
	}
	first.GaveUp() // which says nothing
	if !call(bs, "", ask.ErrTimeout) || call(bs, "", nil) {
		t.Fatal("after one that gave up no other tries, or its failure is forgotten")
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
