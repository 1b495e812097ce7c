package telemetry

import "time"

// At sets the clock that records are sampled by.
func At(o Options, now func() time.Time) Options {
	o.now = now
	return o
}

// Subject is how spans and records show a subject.
func (t *Telemetry) Subject(s string) string { return t.subject(s) }
