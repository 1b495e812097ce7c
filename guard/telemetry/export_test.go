package telemetry

import "time"

// At sets the clock of the samplers.
func At(o Options, now func() time.Time) Options {
	o.now = now
	return o
}

// Subject returns the form of a subject in spans and records.
func (t *Telemetry) Subject(s string) string { return t.subject(s) }
