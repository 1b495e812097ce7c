package httpguard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

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
		if n := taken(t, rdb, "key=ada", "hour", ratelimit.LimitKindGCRA, 59, time.Hour); n != 59 {
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
	const subjects = 30_000
	refuse(2000, subjects)
	if after := heap(); after > before+2<<20 {
		t.Errorf("the heap has %d KiB after 2000 refused subjects, and %d KiB after %d", before>>10, after>>10, subjects)
	} else {
		t.Logf("heap: %d KiB after 2000 refused subjects, %d KiB after %d", before>>10, after>>10, subjects)
	}
}
