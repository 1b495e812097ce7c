package calendar

import (
	"time"
	_ "time/tzdata" // for machines without a zone database
)

// A Period is a length of time by the calendar: a month that starts on the 15th in Berlin, say.
type Period struct {
	// Every is the unit. Required.
	Every Every
	// Zone is a name of the IANA zone database, such as Europe/Berlin. Defaults to UTC.
	Zone string
	// Starts is where in the unit a period starts: a time of day HH:MM, and before it, with a space between, a weekday for Week, a day
	// of the month for Month, or MM-DD for Year; either part may be omitted. A month that is too short for the day starts on its last
	// one. It must be empty for Hour. Defaults to midnight, Monday, the 1st and 01-01.
	Starts string
}

// Every is the unit of a period.
type Every string

// The units.
const (
	Hour  Every = "hour"
	Day   Every = "day"
	Week  Every = "week"
	Month Every = "month"
	Year  Every = "year"
)

// Boundaries are the starts of four periods around a time t, ascending: Start <= t < Next. They are whole seconds.
type Boundaries struct {
	Previous time.Time // of the period before
	Start    time.Time // of the period
	Next     time.Time // of the next period
	After    time.Time // of the one after that
}

// Contains reports whether t is in the period from Start to Next.
func (b Boundaries) Contains(t time.Time) bool { return !t.Before(b.Start) && t.Before(b.Next) }

// A Calendar finds the boundaries of a period. It is immutable and safe for concurrent use.
type Calendar struct {
	every  Every
	zone   *time.Location
	starts starts
}

// New returns the calendar of a period. The error is an *Error.
func New(p Period) (*Calendar, error) {
	s, err := parseStarts(p.Every, p.Starts)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(p.Zone)
	if err != nil || p.Zone == "Local" {
		return nil, &Error{Field: "zone", Must: "be a name of the IANA zone database, such as Europe/Berlin", Got: p.Zone}
	}
	return &Calendar{every: p.Every, zone: zone, starts: s}, nil
}

// Around returns the boundaries around t, in the period's zone.
func (c *Calendar) Around(t time.Time) Boundaries {
	last, next := c.last, c.next
	if c.every == Hour {
		last, next = c.lastHour, c.nextHour
	}
	start := last(t.Unix())
	end := next(start)
	in := func(second int64) time.Time { return time.Unix(second, 0).In(c.zone) }
	return Boundaries{Previous: in(last(start - 1)), Start: in(start), Next: in(end), After: in(next(end))}
}

// offset returns the seconds by which the local clock is ahead of UTC at a second, and a span around it in which that stays the same.
func (c *Calendar) offset(second int64) (offset, from, until int64) {
	t := time.Unix(second, 0).In(c.zone)
	_, seconds := t.Zone()
	first, end := t.ZoneBounds()
	from, until = -1<<62, 1<<62
	if !first.IsZero() {
		from = first.Unix()
	}
	if !end.IsZero() {
		until = end.Unix()
	}
	if until <= second {
		// By Go's rule, years end after 365 days. The rules of zones change at quarters of an hour.
		until = (floor(second, quarter) + 1) * quarter
	}
	return int64(seconds), min(from, second), until
}
