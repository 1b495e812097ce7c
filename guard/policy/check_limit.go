package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall/calendar"
)

const (
	maxRows          = 16           // limits in one call of guard.admit: the policy's and the endpoint's
	maxCounterWindow = 90 * day     // of a sliding_counter
	maxLog           = 1000         // of a limit without a kind, which is a sliding_log
	maxRefill        = 36_500 * day // time in which a gcra refills its burst
)

// checkLimits checks every limit by the rules of its kind, as library ratelimit does.
func (p *Policy) checkLimits(found *problems) {
	p.eachLimit(func(at, _ string, l *Limit) { l.check(at, p, found) })
	for i := range p.Endpoints {
		if own, all := len(p.Endpoints[i].Limits), len(p.Limits); own > 0 && own+all > maxRows {
			found.add(fmt.Sprintf("endpoints[%d].limits", i), "must have at most %d entries together with the policy's limits, got %d and %d", maxRows, own, all)
		}
	}
}

// eachLimit calls f with every limit, its path and its endpoint or upstream, which is "" for a limit of the whole policy.
func (p *Policy) eachLimit(f func(at, endpoint string, l *Limit)) {
	each := func(at, endpoint string, limits []Limit) {
		for i := range limits {
			f(fmt.Sprintf("%s[%d]", at, i), endpoint, &limits[i])
		}
	}
	each("limits", "", p.Limits)
	for i := range p.Endpoints {
		each(fmt.Sprintf("endpoints[%d].limits", i), p.Endpoints[i].Name, p.Endpoints[i].Limits)
	}
	for i := range p.Upstreams {
		each(upstreamPath(i)+".limits", p.Upstreams[i].Name, p.Upstreams[i].Limits)
	}
}

// withRates returns the policy with limits and windows in place of rates. It returns p if no limit has a rate.
func (p *Policy) withRates() *Policy {
	rated := false
	p.eachLimit(func(_, _ string, l *Limit) { rated = rated || l.Rate != "" })
	if !rated {
		return p
	}
	c := *p
	c.Limits, c.Endpoints, c.Upstreams = slices.Clone(p.Limits), slices.Clone(p.Endpoints), slices.Clone(p.Upstreams)
	for i := range c.Endpoints {
		c.Endpoints[i].Limits = slices.Clone(c.Endpoints[i].Limits)
	}
	for i := range c.Upstreams {
		c.Upstreams[i].Limits = slices.Clone(c.Upstreams[i].Limits)
	}
	c.expandRates()
	return &c
}

// expandRates sets the limits and windows of rates. A limit that has both keeps the rate, which is an error.
func (p *Policy) expandRates() {
	p.eachLimit(func(_, _ string, l *Limit) {
		limit, window, wrong := parseRate(l.Rate)
		switch {
		case l.Rate == "":
		case l.Limit != 0 || l.Window != 0:
			l.Limit, l.Window = cmp.Or(l.Limit, limit), cmp.Or(l.Window, window)
		case wrong != "": // reported by bounds
			l.Limit, l.Window = 1, time.Second
		default:
			l.Limit, l.Window, l.Rate = limit, window, ""
		}
	})
}

func (l *Limit) check(at string, p *Policy, found *problems) {
	switch {
	case l.Rate != "" && checkRate(l.Rate) == "":
		found.add(at+".rate", "cannot be combined with limit or window, which it is the short form of")
	case l.Kind == "" && l.Limit > maxLog:
		found.add(at+".kind", "a limit above %d must have a kind, because sliding_log, the default, stores each request: use gcra, sliding_counter, fixed_window or quota, or say sliding_log", maxLog)
	}
	for _, only := range []struct {
		kind  Kind
		key   string
		given bool
	}{
		{Quota, "every", l.Every != ""},
		{Quota, "zone", l.Zone != ""},
		{Quota, "starts", l.Starts != ""},
		{Concurrency, "lease", l.Lease != 0},
		{GCRA, "burst", l.Burst != 0},
	} {
		if only.given && l.Kind != only.kind {
			found.add(at+"."+only.key, "applies only to kind %s, not to %s", only.kind, l.kind())
		}
	}
	switch l.kind() {
	case Quota:
		l.checkPeriod(at, found)
	case Concurrency:
		if l.Window != 0 {
			found.add(at+".window", "must be omitted for a concurrency: a request has its places until it ends")
		}
		if l.Count != nil {
			found.add(at+".count", "must be omitted for a concurrency: a request has its places whatever its response will be")
		}
	case SlidingCounter:
		if l.Window > maxCounterWindow {
			found.add(at+".window", "must be at most 90d for a sliding_counter, got %s", FormatDuration(l.Window))
		}
	}
	switch {
	case l.Kind == GCRA:
		l.checkBurst(at, found)
	case l.kind() == SlidingLog && l.Weight > 1:
		found.add(at+".weight", "must be 1 for a sliding_log, which counts requests, got %d", l.Weight)
	case l.Limit > 0 && l.Weight > l.Limit:
		found.add(at+".weight", "must be at most the limit %d, got %d: a larger weight never fits", l.Limit, l.Weight)
	}
	if c := l.Count; c != nil && len(c.Status)+len(c.Code) == 0 {
		found.add(at+".count", "must have a status or a code")
	}
	if l.Prefetch != nil {
		l.checkPrefetch(at+".prefetch", found)
	}
}

func (l *Limit) checkBurst(at string, found *problems) {
	burst := cmp.Or(l.Burst, l.Limit)
	if burst > 0 && l.Weight > burst {
		found.add(at+".weight", "must be at most the burst %d, got %d: a larger weight never fits", burst, l.Weight)
	}
	if l.Limit > 0 && burst > 0 && l.Window > 0 && refillTime(burst, l.Window, l.Limit) > maxRefill {
		found.add(at+".window", "must refill the burst %d within 100 years", burst)
	}
}

// refillTime returns the time in which a burst is refilled; more than maxRefill if the time overflows.
func refillTime(burst int64, window time.Duration, limit int64) time.Duration {
	high, low := bits.Mul64(uint64(burst), uint64(window))
	if high >= uint64(limit) {
		return maxRefill + 1
	}
	quotient, _ := bits.Div64(high, low, uint64(limit))
	return time.Duration(min(quotient, uint64(maxRefill)+1))
}

func (l *Limit) kind() Kind { return cmp.Or(l.Kind, SlidingLog) }

// Calendar returns the calendar of a quota, or nil for another kind. It returns a *calendar.Error if the policy was not checked.
func (l *Limit) Calendar() (*calendar.Calendar, error) {
	if l.Kind != Quota {
		return nil, nil
	}
	return calendar.New(calendar.Period{Every: l.Every, Zone: l.Zone, Starts: string(l.Starts)})
}

// Calendar returns the calendar of a budget with periods, or nil. It returns a *calendar.Error if the policy was not checked.
func (b *Budget) Calendar() (*calendar.Calendar, error) {
	if b.Every == "" {
		return nil, nil
	}
	return calendar.New(calendar.Period{Every: b.Every, Zone: b.Zone, Starts: string(b.Starts)})
}

// checkPeriod checks that a quota has a period and no window.
func (l *Limit) checkPeriod(at string, found *problems) {
	if l.Window != 0 {
		found.add(at+".window", "must be omitted for a quota: its length is every")
	}
	if l.Every == "" {
		found.add(at+".every", "is required for a quota")
		return
	}
	_, err := l.Calendar()
	checkCalendar(at, err, found)
}

// checkCalendar reports the error of a calendar.
func checkCalendar(at string, err error, found *problems) {
	var wrong *calendar.Error
	if errors.As(err, &wrong) && wrong.Field != "every" { // reported by bounds
		found.add(at+"."+wrong.Field, "must %s, got %s", wrong.Must, quote(wrong.Got))
	}
}

// concurrencyOf returns the first limit of kind concurrency of an endpoint or of the whole policy, or nil.
func (p *Policy) concurrencyOf(e *Endpoint) *Limit {
	all := [][]Limit{p.Limits}
	if e != nil {
		all = append(all, e.Limits)
	}
	for _, limits := range all {
		for i := range limits {
			if limits[i].Kind == Concurrency {
				return &limits[i]
			}
		}
	}
	return nil
}

// checkPrefetch finds limits whose tokens cannot be taken in batches.
func (l *Limit) checkPrefetch(at string, found *problems) {
	switch atOnce := cmp.Or(l.Burst, l.Limit); {
	case l.kind() != GCRA && l.kind() != FixedWindow && l.kind() != Quota:
		found.add(at, "applies only to kind gcra, fixed_window and quota, not to %s: only these bound what a batch admits later than it was taken", l.kind())
	case !l.By.Global():
		found.add(at, "applies only to a global limit, by: all: a process would hold tokens of each subject")
	case l.Weight > 1:
		found.add(at, "applies only with weight 1, got %d", l.Weight)
	case l.Count != nil:
		found.add(at, "must not be combined with count")
	case atOnce > 0 && l.Prefetch.Most > atOnce:
		found.add(at+".most", "must be at most what the limit admits at once, %d, got %d", atOnce, l.Prefetch.Most)
	}
}
