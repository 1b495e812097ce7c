package calendar

import "time"

const (
	quarter = 15 * 60
	hour    = 4 * quarter
	day     = 24 * hour
)

// last returns the last start that is not after a second.
func (c *Calendar) last(second int64) int64 {
	offset, _, _ := c.offset(second)
	// A clock that was set back shows an earlier unit than the one that has started.
	n := c.unit(time.Unix(second+offset, 0).UTC()) + 2
	for c.start(n) > second {
		n--
	}
	return c.start(n)
}

// next returns the first start after a second.
func (c *Calendar) next(second int64) int64 {
	offset, _, _ := c.offset(second)
	n := c.unit(time.Unix(second+offset, 0).UTC()) - 1
	for c.start(n) <= second {
		n++
	}
	return c.start(n)
}

// start returns the first second at which the local clock shows the start of the n-th unit or later.
func (c *Calendar) start(n int64) int64 {
	local := c.local(n).Unix()
	at := local - 16*hour // no zone is that far ahead
	for {
		offset, _, until := c.offset(at)
		if at = max(at, local-offset); at < until {
			return at
		}
		at = until
	}
}

// unit returns the number of the unit in which a local time is, from the start of the calendar's own units.
func (c *Calendar) unit(local time.Time) int64 {
	switch c.every {
	case Day:
		return floor(local.Unix(), day)
	case Week:
		return floor(local.Unix()-c.firstWeekday(), 7*day)
	case Month:
		return int64(local.Year())*12 + int64(local.Month()) - 1
	}
	return int64(local.Year())
}

// local returns the local time, as if it were UTC, at which the n-th unit starts.
func (c *Calendar) local(n int64) time.Time {
	s := c.starts
	switch c.every {
	case Day:
		return time.Unix(n*day+s.second, 0).UTC()
	case Week:
		return time.Unix(n*7*day+c.firstWeekday()+s.second, 0).UTC()
	case Month:
		return s.in(int(floor(n, 12)), time.Month(n-12*floor(n, 12)+1))
	}
	return s.in(int(n), s.month)
}

// firstWeekday returns when the first of the weekdays on which weeks start began: 1970 began on a Thursday.
func (c *Calendar) firstWeekday() int64 { return int64(c.starts.weekday-time.Thursday) * day }

// lastHour returns the last second, not after a given one, at which the local clock shows a full hour.
func (c *Calendar) lastHour(second int64) int64 {
	for {
		offset, from, _ := c.offset(second)
		if at := floor(second+offset, hour)*hour - offset; at >= from {
			return at
		}
		second = from - 1
	}
}

// nextHour returns the first second after a given one at which the local clock shows a full hour.
func (c *Calendar) nextHour(second int64) int64 {
	for {
		second++
		offset, _, until := c.offset(second)
		if at := -floor(-second-offset, hour)*hour - offset; at < until {
			return at
		}
		second = until - 1
	}
}

// floor divides and rounds down.
func floor(n, by int64) int64 {
	quotient := n / by
	if n%by < 0 {
		quotient--
	}
	return quotient
}
