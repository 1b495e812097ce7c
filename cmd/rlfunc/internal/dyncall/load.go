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
	Calls, Errors                int
	P50, P90, P99, Longest, Took time.Duration
	Outcomes                     map[string]int // by Result.Outcome
	FirstError                   error
}

// Many makes n calls from workers that start together.
func (c *Call) Many(ctx context.Context, n, workers int) Summary {
	return load(ctx, min(workers, n), func(i int) *Call {
		if i >= n {
			return nil
		}
		return c
	})
}

// For makes calls from workers that start together, for the subjects in turn, until the time is over or the context ends.
func (c *Call) For(ctx context.Context, span time.Duration, workers, subjects int) Summary {
	calls := make([]*Call, subjects)
	for i := range calls {
		calls[i] = c.Of(i + 1)
	}
	began := time.Now()
	return load(ctx, workers, func(i int) *Call {
		if time.Since(began) >= span || ctx.Err() != nil {
			return nil
		}
		return calls[i%subjects]
	})
}

// load makes the calls that next returns for the numbers from 0 on, until it returns nil.
func load(ctx context.Context, workers int, next func(i int) *Call) Summary {
	parts := make([]Summary, workers)
	took := make([][]time.Duration, workers)
	var numbers atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for w := range parts {
		wg.Go(func() {
			<-start
			p := Summary{Outcomes: map[string]int{}}
			for call := next(int(numbers.Add(1) - 1)); call != nil; call = next(int(numbers.Add(1) - 1)) {
				args, _, _ := call.args()
				sent := time.Now()
				reply, err := args.Call(ctx)
				took[w] = append(took[w], time.Since(sent))
				var result Result
				if err == nil {
					result, err = decode(reply, call.spec)
				}
				if err == nil {
					p.Outcomes[result.Outcome()]++
					continue
				}
				if p.Errors++; p.Errors == 1 {
					p.FirstError = err
				}
			}
			parts[w] = p
		})
	}
	began := time.Now()
	close(start)
	wg.Wait()
	s := Summary{Took: time.Since(began), Outcomes: map[string]int{}}
	for _, p := range parts {
		if s.Errors == 0 {
			s.FirstError = p.FirstError
		}
		s.Errors += p.Errors
		for name, n := range p.Outcomes {
			s.Outcomes[name] += n
		}
	}
	all := slices.Concat(took...)
	if s.Calls = len(all); s.Calls > 0 {
		slices.Sort(all)
		at := func(percent int) time.Duration { return all[(len(all)-1)*percent/100] }
		s.P50, s.P90, s.P99, s.Longest = at(50), at(90), at(99), at(100)
	}
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
