package httpguard_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/httpguard"
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
					switch status := s.get(t, "X-API-Key", "ada"); status {
					case 200:
						passed.Add(1)
					case 429:
					default:
						t.Errorf("status %d", status)
					}
				}
			})
		}
		for i := range 20 { // the endpoint has another name each time
			if err := s.guard.SetPolicy(parse(t, fmt.Sprintf(yaml, string(rune('b'+i)), 40+i))); err != nil {
				t.Error(err)
			}
		}
		eventually(t, "the limit of the last policy is used up", func() bool { return s.get(t, "X-API-Key", "ada") == 429 })
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
