package dyncall

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Summary counts many calls.
type Summary struct {
	Calls, Errors int
	P50, P99      time.Duration
	Outcomes      map[string]int // by Result.Outcome
	FirstError    error
}

// Many makes n calls from workers that start together.
func (c *Call) Many(ctx context.Context, n, workers int) Summary {
	s := Summary{Calls: n, Outcomes: map[string]int{}}
	took := make([]time.Duration, n)
	var mu sync.Mutex
	var next atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range min(workers, n) {
		wg.Go(func() {
			outcomes, errors, first := map[string]int{}, 0, error(nil)
			<-start
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				began := time.Now()
				result, err := c.Do(ctx)
				if took[i] = time.Since(began); err == nil {
					outcomes[result.Outcome()]++
				} else if errors++; errors == 1 {
					first = err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if s.Errors += errors; s.FirstError == nil {
				s.FirstError = first
			}
			for name, count := range outcomes {
				s.Outcomes[name] += count
			}
		})
	}
	close(start)
	wg.Wait()
	slices.Sort(took)
	s.P50, s.P99 = took[(n-1)*50/100], took[(n-1)*99/100]
	return s
}

// MarshalJSON writes one object: times in decimal seconds, and the outcomes by name.
func (s Summary) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"calls":%d,"errors":%d,"p50":%s,"p99":%s`, s.Calls, s.Errors, Seconds(s.P50.Microseconds()), Seconds(s.P99.Microseconds()))
	for _, name := range slices.Sorted(maps.Keys(s.Outcomes)) {
		fmt.Fprintf(&b, `,%q:%d`, name, s.Outcomes[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Lines returns the summary as text.
func (s Summary) Lines() []string {
	out := []string{fmt.Sprintf("calls    %d", s.Calls), fmt.Sprintf("errors   %d", s.Errors)}
	for _, name := range slices.Sorted(maps.Keys(s.Outcomes)) {
		out = append(out, fmt.Sprintf("%-8s %d", name, s.Outcomes[name]))
	}
	return append(out, fmt.Sprintf("latency  p50 %s, p99 %s", s.P50.Round(time.Microsecond), s.P99.Round(time.Microsecond)))
}
