package outbound_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// An upstream admits 60 requests and 40,000 tokens in any minute and 5 requests at a time, and answers 429 beyond that.
type upstream struct {
	mu      sync.Mutex
	running int
	served  []servedAt
	refused int
	random  *rand.Rand
}

type servedAt struct {
	at     time.Time
	tokens int
}

func (a *upstream) between(low, high int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return low + a.random.IntN(high-low)
}

func (a *upstream) sleep(low, high int) {
	time.Sleep(time.Duration(a.between(low, high)) * time.Millisecond)
}

func (a *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	tokens, _ := strconv.Atoi(r.Header.Get("Tokens"))
	a.sleep(1, 100) // on the way
	if wait := a.admit(tokens); wait > 0 {
		return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {strconv.Itoa(int(wait/time.Second) + 1)}}, Body: http.NoBody, Request: r}, nil
	}
	a.sleep(300, 900)
	a.mu.Lock()
	a.running--
	a.mu.Unlock()
	a.sleep(1, 20)
	text := fmt.Sprintf(`{"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, tokens/2, tokens-tokens/2)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// admit returns how long a request must wait; 0 if it is served.
func (a *upstream) admit(tokens int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, total := time.Now(), tokens
	a.served = slices.DeleteFunc(a.served, func(s servedAt) bool { return now.Sub(s.at) >= time.Minute })
	for _, s := range a.served {
		total += s.tokens
	}
	switch {
	case len(a.served) >= 60 || total > 40_000:
		a.refused++
		return a.served[0].at.Add(time.Minute).Sub(now)
	case a.running >= 5:
		a.refused++
		return time.Second
	}
	a.running++
	a.served = append(a.served, servedAt{now, tokens})
	return 0
}

// Twenty workers in four processes use what the upstream allows, see no 429, and get equal parts.
func TestTransport_fleet(t *testing.T) {
	defer runtime.GC() // drops pooled channels of the bubble, see virtually
	runtime.GC()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.New(embedded.Options{})
		api := &upstream{random: rand.New(rand.NewPCG(1, 2))}
		p := &policy.Policy{Upstreams: []policy.Upstream{{
			Name: "llm", Match: []string{"api.example.com/"}, MaxWait: new(10 * time.Minute), Attempts: 10,
			Limits: []policy.Limit{
				{Name: "requests", Limit: 60, Window: time.Minute},
				{Name: "pace", Kind: policy.GCRA, Limit: 60, Window: time.Minute, Burst: 2},
				{Name: "at_once", Kind: policy.Concurrency, Limit: 5},
			},
			Budgets: []policy.Budget{{Name: "tokens", Unit: "tokens", Budget: 40_000 * 1_000_000, Window: time.Minute}},
		}}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		served, processes := make([]int, 20), sync.WaitGroup{}
		for process := range 4 {
			g, err := guard.New(server, p, guard.Options{NoOverrides: true, CacheSize: -1})
			if err != nil {
				t.Fatal(err)
			}
			transport, err := outbound.New(g, outbound.Options{
				Base: api, Usage: outbound.Tokens("tokens"), Estimate: func(r *http.Request) guard.Amounts {
					tokens, _ := strconv.ParseInt(r.Header.Get("Tokens"), 10, 64)
					return guard.Amounts{Units: []guard.Amount{{Unit: "tokens", N: tokens * 3 / 2}}} // at most
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			processes.Go(func() {
				defer g.Close()
				var workers sync.WaitGroup
				for worker := range 5 {
					workers.Go(func() { served[process*5+worker] = work(ctx, transport, api) })
				}
				workers.Wait()
			})
		}
		processes.Wait()
		_ = server.Close()
		total := 0
		for _, n := range served {
			total += n
		}
		spread := 20 * float64(slices.Max(served)-slices.Min(served)) / float64(total)
		t.Logf("%d requests served of 600, %d 429s, %.1f %% between workers: %v", total, api.refused, 100*spread, served)
		if total < 570 || api.refused > 5 || slices.Max(served)-slices.Min(served) > 3 {
			t.Error("want 570 served, at most 5 refused, and 3 of 30 between workers")
		}
		time.Sleep(time.Minute) // idle goroutines end
	})
	runtime.GC()
}

// work sends requests until ctx ends, and returns how many were served.
func work(ctx context.Context, transport http.RoundTripper, api *upstream) (served int) {
	for {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/v1", nil)
		r.Header.Set("Tokens", strconv.Itoa(api.between(200, 980))) // a charge counts up to 61 s, and large calls give way to small
		response, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return served
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			served++
		}
	}
}
