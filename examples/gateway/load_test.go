package gateway

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// A load sends requests to every proxy until it stops.
type load struct {
	mu      sync.Mutex
	phase   *phase
	stopped bool
	workers sync.WaitGroup
}

// A phase has the answers to the requests that began and ended in it.
type phase struct {
	load     *load
	statuses map[string]map[int]int // by proxy
	example  map[int]string         // a body, by status
}

func (s *stack) startLoad(t *testing.T) *load {
	l := new(load)
	l.begin(t)
	for i, name := range names {
		for j := range 2 {
			c := s.client(t, name, fmt.Sprintf("127.0.%d.%d", 1+i, 1+j))
			l.workers.Go(func() {
				for p := l.current(); p != nil; p = l.current() {
					p.add(name, c.get(t, "/"))
				}
			})
		}
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) current() *phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return nil
	}
	return l.phase
}

func (l *load) begin(t *testing.T) *phase {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = &phase{load: l, statuses: map[string]map[int]int{}, example: map[int]string{}}
	for _, name := range names {
		l.phase.statuses[name] = map[int]int{}
	}
	return l.phase
}

func (l *load) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.workers.Wait()
}

func (p *phase) add(proxy string, a answer) {
	p.load.mu.Lock()
	defer p.load.mu.Unlock()
	if p.load.phase == p {
		p.statuses[proxy][a.status]++
		p.example[a.status] = a.body
	}
}

// expect waits until every proxy has answered, and checks the statuses.
func (p *phase) expect(t *testing.T, when string, statuses ...int) {
	t.Helper()
	const enough = 50
	eventually(t, "the load goes on "+when, func() bool {
		p.load.mu.Lock()
		defer p.load.mu.Unlock()
		for _, got := range p.statuses {
			n := 0
			for _, count := range got {
				n += count
			}
			if n < enough {
				return false
			}
		}
		return true
	})
	p.load.mu.Lock()
	defer p.load.mu.Unlock()
	t.Logf("%s: %v", when, p.statuses)
	for proxy, got := range p.statuses {
		for status := range got {
			if !slices.Contains(statuses, status) {
				t.Errorf("%s %s: %d times %d: %s", proxy, when, got[status], status, p.example[status])
			}
		}
		if got[statuses[0]] == 0 {
			t.Errorf("%s %s: no %d", proxy, when, statuses[0])
		}
	}
}
