package main

import "time"

// A queue holds events by time, and events of one time in the order of their arrival.
type queue struct {
	events []event
	count  uint64
}

type event struct {
	at    time.Duration
	order uint64
	run   func(now time.Duration)
}

func (q *queue) before(i, j int) bool {
	a, b := &q.events[i], &q.events[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (q *queue) add(at time.Duration, run func(now time.Duration)) {
	q.count++
	q.events = append(q.events, event{at, q.count, run})
	for i := len(q.events) - 1; i > 0 && q.before(i, (i-1)/2); i = (i - 1) / 2 {
		q.events[i], q.events[(i-1)/2] = q.events[(i-1)/2], q.events[i]
	}
}

// next removes the first event. The queue must have one.
func (q *queue) next() event {
	first, last := q.events[0], len(q.events)-1
	q.events[0] = q.events[last]
	q.events = q.events[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if q.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		q.events[i], q.events[least] = q.events[least], q.events[i]
		i = least
	}
}
