package dyncall

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	var next atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	took := make([]time.Duration, n)
	outcomes := make([]string, n)
	errs := make([]error, n)
	for range min(workers, n) {
		wg.Go(func() {
			<-start
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				began := time.Now()
				result, err := c.Do(ctx)
				took[i], errs[i] = time.Since(began), err
				if err == nil {
					outcomes[i] = result.Outcome()
				}
			}
		})
	}
	close(start)
	wg.Wait()
	return summarise(took, outcomes, errs)
}

func summarise(took []time.Duration, outcomes []string, errs []error) Summary {
	s := Summary{Calls: len(took), Outcomes: map[string]int{}}
	for i, err := range errs {
		if err == nil {
			s.Outcomes[outcomes[i]]++
			continue
		}
		s.Errors++
		if s.FirstError == nil {
			s.FirstError = err
		}
	}
	slices.Sort(took)
	s.P50, s.P99 = took[(len(took)-1)*50/100], took[(len(took)-1)*99/100]
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
	latency := fmt.Sprintf("latency  p50 %s, p99 %s", s.P50.Round(time.Microsecond), s.P99.Round(time.Microsecond))
	return append(out, strings.TrimSpace(latency))
}
