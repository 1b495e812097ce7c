// Package moment is time on this process's steady clock.
package moment

import "time"

// A Moment is a time on the steady clock: reading it costs half of time.Now.
type Moment time.Duration

var epoch = time.Now()

// Now is this moment.
func Now() Moment { return Moment(time.Since(epoch)) }

// Add returns the moment d later.
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d) }

// Since returns how much later m is.
func (m Moment) Since(earlier Moment) time.Duration { return time.Duration(m - earlier) }
