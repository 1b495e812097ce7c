package httpguard_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// onEach runs a scenario on each engine. Windows are hours, so that none ends on a real clock.
func onEach(t *testing.T, scenario func(t *testing.T, rdb *redis.Client)) {
	t.Helper()
	for _, e := range engines.Ends(t) {
		t.Run(e.Name, func(t *testing.T) { scenario(t, e.Client(t)) })
	}
}

// atOnce sends n concurrent requests and counts their statuses. headers returns those of request i.
func (s *service) atOnce(t *testing.T, n int, headers func(i int) []string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			response, _ := s.ask(t, "GET /", headers(i)...)
			checkHeaders(t, response.Header)
			mu.Lock()
			defer mu.Unlock()
			got[response.StatusCode]++
		})
	}
	close(start)
	all.Wait()
	return got
}

func expect(t *testing.T, what string, want, got map[int]int) {
	t.Helper()
	if !maps.Equal(want, got) {
		t.Errorf("%s: statuses are %v, want %v", what, got, want)
	}
}

// taken returns the used part of a limit.
func taken(t *testing.T, rdb *redis.Client, subject fcall.Subject, name string, kind ratelimit.LimitKind, limit int64, window time.Duration) int64 {
	t.Helper()
	limits, err := ratelimit.New(rdb, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	peek, err := limits.Check(t.Context(), ratelimit.CheckParams{
		Subject: subject, Look: true, Limits: ratelimit.PackLimit(ratelimit.Limit{Name: name, Kind: kind, Limit: limit, Window: window}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return limit - peek.Limits[0].Remaining
}
