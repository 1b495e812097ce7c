package decide

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// A fakeNode records calls and their times since the test began.
type fakeNode struct {
	Keeper
	began time.Time

	mu    sync.Mutex
	calls []string
	err   error         // of further calls
	gone  bool          // renewals find nothing
	takes time.Duration // each batch
}

func newFakeNode() *fakeNode {
	f := &fakeNode{began: time.Now()}
	f.Background = func(work func()) { go work() }
	f.Do = func(node string, calls []LeaseCall) {
		f.mu.Lock()
		defer f.mu.Unlock()
		time.Sleep(f.takes)
		var batch []string
		for i := range calls {
			c := &calls[i]
			what := "renew"
			if c.Release {
				what = "release"
			}
			batch = append(batch, what+" "+c.Lease.Holder)
			c.Err, c.Lost = f.err, f.err == nil && f.gone && !c.Release
		}
		slices.Sort(batch)
		f.calls = append(f.calls, fmt.Sprint(time.Since(f.began), node, batch))
	}
	return f
}

func (f *fakeNode) hold(holder string, lease time.Duration) *Lease {
	return f.Hold(Places{Holder: holder, Lease: lease}, monotime.Now(), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, fmt.Sprint(time.Since(f.began), "lost ", holder))
	})
}

// answer sets the result of further calls.
func (f *fakeNode) answer(err error, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.gone = err, gone
}

func (f *fakeNode) want(t *testing.T, calls ...string) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if diff := cmp.Diff(calls, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	f.calls = nil
}

func TestKeeper_renewsKeptLeasesAtAThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNode()
		a, b := f.hold("a", 30*time.Second), f.hold("b", 30*time.Second)
		a.Keep()
		a.Keep()
		f.hold("c", 3*time.Second) // not kept
		time.Sleep(500 * time.Millisecond)
		b.Keep()
		time.Sleep(21 * time.Second)
		f.want(t, "10s[renew a renew b]", "20s[renew a renew b]") // b comes 0.5 s early
		a.Release()
		a.Release()
		f.want(t, "21.5s[release a]")
		time.Sleep(10 * time.Second)
		f.want(t, "30s[renew b]")
		f.Close()
		time.Sleep(time.Minute)
		f.want(t)
	})
}

func TestKeeper_releasesWhatIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNode()
		f.hold("a", time.Second).Release()
		f.want(t, "0s[release a]")
	})
}

// Calls of a node wait while one is under way, and then share a round trip.
func TestKeeper_releasesShareRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNode()
		f.takes = time.Second
		f.hold("first", time.Minute).Release()
		synctest.Wait()
		for i := range 300 {
			f.hold(fmt.Sprintf("%03d", i), time.Minute).Release()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		var sizes []int
		for _, c := range f.calls {
			n := 0
			for i := range len(c) {
				if c[i] == 'l' && c[i-1] == 'e' && c[i-2] == 'r' { // of "release"
					n++
				}
			}
			sizes = append(sizes, n)
		}
		if diff := cmp.Diff([]int{1, 64, 64, 64, 64, 44}, sizes); diff != "" {
			t.Errorf("calls in a round trip (-want +got):\n%s", diff)
		}
	})
}

func TestKeeper_retriesUntilTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNode()
		a, b := f.hold("a", 10*time.Second), f.hold("b", 10*time.Second)
		a.Keep()
		f.answer(errors.New("no answer"), false)
		time.Sleep(3 * time.Second)
		b.Release()
		time.Sleep(2100 * time.Millisecond)
		f.want(t, "3s[release b]", "3.333333333s[renew a]", "4s[release b renew a]", "5s[release b renew a]")
		f.answer(nil, false)
		time.Sleep(time.Second)
		f.want(t, "6s[release b renew a]")
		f.answer(errors.New("no answer"), false) // from now on
		time.Sleep(10 * time.Second)
		f.want(
			t, "9.333333333s[renew a]", "10.333333333s[renew a]", "11.333333333s[renew a]", "12.333333333s[renew a]", "13.333333333s[renew a]",
			"14.333333333s[renew a]", "15.333333333s[renew a]", "16s[renew a]", "16slost a",
		)
		time.Sleep(time.Minute)
		a.Release() // it has ended: one try
		f.want(t, "1m16.1s[release a]")
		time.Sleep(time.Minute)
		f.want(t)
	})
}

func TestKeeper_reportsALostPlaceOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNode()
		a := f.hold("a", 30*time.Second)
		a.Keep()
		f.answer(nil, true)
		time.Sleep(time.Minute)
		f.want(t, "10s[renew a]", "10slost a")
		a.Release() // another of its limits may still have a place
		f.want(t, "1m0s[release a]")
	})
}

// A release does not get lost in a renewal that is under way.
func TestKeeper_releaseDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNode()
		f.takes = time.Second
		a := f.hold("a", 30*time.Second)
		a.Keep()
		time.Sleep(10*time.Second + 500*time.Millisecond)
		a.Release()
		time.Sleep(time.Minute)
		f.want(t, "11s[renew a]", "12s[release a]")
	})
}
