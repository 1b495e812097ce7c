package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
)

// subjectRows measures the memory of the server after requests of many different clients.
func subjectRows(ctx context.Context, t *target, quick bool) ([]Row, error) {
	steps := []int{10_000, 100_000, 1_000_000}
	if quick {
		steps = steps[:2]
	}
	var rows []Row
	var first float64
	sent := 0
	for _, n := range steps {
		progress("serve: %d subjects", n)
		if err := t.visit(ctx, sent, n); err != nil {
			return nil, err
		}
		sent = n
		heap, err := t.heap(ctx)
		if err != nil {
			return nil, err
		}
		held, err := t.resident()
		if err != nil {
			return nil, err
		}
		row := Row{
			Part: "serve", Name: fmt.Sprintf("heap after %d subjects", n), Value: exactly(heap / (1 << 20)), Unit: "MiB",
			Beside: fmt.Sprintf("resident: %.1f MiB", float64(held)/(1<<20)),
		}
		if first == 0 {
			first = heap
		} else {
			row.Goals = []Goal{{Text: fmt.Sprintf("at most 1.1 of %d subjects", steps[0]), Got: heap / first, Bound: 1.1}}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// visit sends one request of each client from number from to number to.
func (t *target) visit(ctx context.Context, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from))
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1) - 1)
				if i >= to {
					return
				}
				if err := t.ask(ctx, i, request(i, 1)); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// heap returns the bytes of the heap after a garbage collection.
func (t *target) heap(ctx context.Context) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.pprof+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	found := heapAlloc.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("the profile of %s has no HeapAlloc", t.name)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
