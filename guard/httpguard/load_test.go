package httpguard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestServers_budgetIsReservedSettledAndCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		entered, settle := make(chan struct{}), make(chan struct{})
		s := serve(t, rdb, parse(t, oneEuro), httpguard.Options{}, func(_ http.ResponseWriter, r *http.Request) {
			switch r.Header.Get("Do") {
			case "settle":
				entered <- struct{}{}
				<-settle
				if err := httpguard.FromContext(r.Context()).Charge.Settle(r.Context(), 100_000); err != nil {
					t.Error(err)
				}
			case "panic":
				panic(http.ErrAbortHandler)
			case "linger":
				entered <- struct{}{}
				<-r.Context().Done()
			}
		})
		as := func(do string) []string { return []string{"X-API-Key", "ada", "Do", do} }
		var settling sync.WaitGroup
		for range 4 { // 4 x 0.25 of 1.00
			settling.Go(func() {
				if a := s.get(t, as("settle")...); a.Status != 200 {
					t.Errorf("%+v", a)
				}
			})
			<-entered
		}
		if a := s.get(t, as("")...); a.Status != 429 || a.Error != "cost_exceeded" {
			t.Errorf("with all reserved: %+v", a)
		}
		close(settle)
		settling.Wait() // 0.40 is spent
		ctx, hangUp := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", "ada")
		r.Header.Set("Do", "linger")
		gone := make(chan error)
		go func() { _, err := s.Client().Do(r); gone <- err }() //nolint:bodyclose // there is none
		<-entered
		if got := spent(t, s, rdb, "key=ada"); got != 650_000 {
			t.Errorf("%v is spent while a request lingers", got)
		}
		hangUp()
		if err := <-gone; err == nil {
			t.Error("the client has not gone")
		}
		// A GET over a connection that was used before would be sent again when it breaks, and reserve again.
		r, _ = http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
		r.Header.Set("X-API-Key", "ada")
		r.Header.Set("Do", "panic")
		if _, err := s.Client().Do(r); err == nil { //nolint:bodyclose // there is none
			t.Error("the handler has not panicked")
		}
		eventually(t, "the abandoned reservation is refunded", func() bool { return spent(t, s, rdb, "key=ada") == 400_000 })
	})
}

// The tier's window ends long before its block.
func TestServers_blockOutlivesItsWindow(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		s := serve(t, rdb, parse(t, `
abuse: {tiers: [{threshold: 3, window: 50ms, block: 1h}]}
endpoints: [{name: chat, match: ["/"], unbounded: true, abuse: all}]`), httpguard.Options{}, nil)
		headers := func(int) []string { return []string{"X-API-Key", "ada"} }
		eventually(t, "three attempts fall into 50 ms", func() bool { return s.atOnce(t, 10, headers)[200] < 10 })
		attempts, err := abuse.New(rdb, fcall.Options{Namespace: "guard"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		eventually(t, "the window is over", func() bool { return time.Since(began) > 100*time.Millisecond })
		r, err := attempts.Status(t.Context(), abuse.StatusParams{Subject: "key=ada", Tiers: []abuse.StatusTiers{{Threshold: 3, Window: 50 * time.Millisecond}}})
		stands := r.RetryAfter == time.Hour // the embedded engine's clock
		if err != nil || !r.Blocked || r.Strikes != 1 || r.Tiers[0].Count > 0 && !stands {
			t.Errorf("after the window: %+v, %v", r, err)
		}
		if a := s.get(t, headers(0)...); a.Status != 429 || a.Error != "blocked" || a.Seconds < 3500 {
			t.Errorf("after the window: %+v", a)
		}
	})
}

func TestServers_reloadUnderLoad(t *testing.T) {
	onEach(t, func(t *testing.T, rdb *redis.Client) {
		const yaml = `
endpoints: [{name: %s, match: ["/"], limits: [{name: own, limit: 1000, window: 1h}]}]
limits: [{name: hour, kind: gcra, limit: %d, window: 1h}]`
		s := serve(t, rdb, parse(t, fmt.Sprintf(yaml, "a", 40)), httpguard.Options{}, nil)
		var passed atomic.Int64
		var load sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			load.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					switch a := s.get(t, "X-API-Key", "ada"); a.Status {
					case 200:
						passed.Add(1)
					case 429:
					default:
						t.Errorf("%+v", a)
					}
				}
			})
		}
		for i := range 20 { // the endpoint has another name each time
			if err := s.guard.SetPolicy(parse(t, fmt.Sprintf(yaml, string(rune('b'+i)), 40+i))); err != nil {
				t.Error(err)
			}
		}
		eventually(t, "the limit of the last policy is used up", func() bool { return s.get(t, "X-API-Key", "ada").Status == 429 })
		close(stop)
		load.Wait()
		if n := taken(t, rdb, "key=ada", "hour", ratelimit.LimitKindGCRA, 59); n != 59 {
			t.Errorf("%d of 59 are used", n)
		}
		if passed.Load() > 59 {
			t.Errorf("%d passed limits of 40 to 59", passed.Load())
		}
	})
}

// Many refused subjects stay within Options.CacheSize. A cache of any size would take 17 MiB more for 30,000.
func TestCache_staysWithinCacheSize(t *testing.T) {
	onpath.Full(t)
	rdb, _ := inProcess(t)
	p := parse(t, `
limits: [{name: hour, limit: 1, window: 1h}]
endpoints: [{name: chat, match: ["/"]}]`)
	o := guardOptions(1000)
	o.CacheTTL = time.Hour
	s := serveWith(t, rdb, p, o, httpguard.Options{}, nil)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	refuse := func(from, to int) {
		for i := from; i < to; i++ {
			for range 2 {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("X-API-Key", fmt.Sprint("user", i))
				s.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
			}
			if i%1000 == 999 { // the embedded server shares the heap
				if err := rdb.FlushDB(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	refuse(0, 2000)
	before := heap()
	refuse(2000, subjects)
	if after := heap(); after > before+2<<20 {
		t.Errorf("the heap has %d KiB after 2000 refused subjects, and %d KiB after %d", before>>10, after>>10, subjects)
	} else {
		t.Logf("heap: %d KiB after 2000 refused subjects, %d KiB after %d", before>>10, after>>10, subjects)
	}
}
