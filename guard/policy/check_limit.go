package policy

import (
	"fmt"
	"math/bits"
	"time"
)

const (
	maxRows          = 16           // limits in one call of guard.admit: the policy's and the endpoint's
	maxCounterWindow = 90 * day     // of a sliding_counter
	maxRefill        = 36_500 * day // time in which a gcra refills its burst
)

// checkLimits checks every limit by the rules of its kind, as library ratelimit does.
func (p *Policy) checkLimits(found *problems) {
	p.eachLimit(func(at, endpoint string, l *Limit) {
		l.check(at, p, found)
		if l.DynamicMax != 0 {
			l.checkDynamic(at+".dynamic_max", endpoint, found)
		}
	})
	for i := range p.Endpoints {
		if own, all := len(p.Endpoints[i].Limits), len(p.Limits); own > 0 && own+all > maxRows {
			found.add(fmt.Sprintf("endpoints[%d].limits", i), "must have at most %d entries together with the policy's limits, got %d and %d", maxRows, own, all)
		}
	}
}

// eachLimit calls f with every limit, its path and its endpoint, which is "" for a limit of the whole policy.
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
}

func (l *Limit) check(at string, p *Policy, found *problems) {
	l.checkPeriod(at, found)
	l.checkPlaces(at, found)
	if l.Kind == GCRA {
		l.checkBurst(at, found)
	} else {
		if l.Burst != 0 {
			found.add(at+".burst", "applies only to kind gcra, not to %s", l.kind())
		}
		if l.kind() == SlidingLog && l.Cost > 1 {
			found.add(at+".cost", "must be 1 for a sliding_log, which counts requests, got %d", l.Cost)
		} else if l.Limit > 0 && l.Cost > l.Limit {
			found.add(at+".cost", "must be at most the limit %d, got %d: a larger cost never fits", l.Limit, l.Cost)
		}
	}
	if l.Kind == SlidingCounter && l.Window > maxCounterWindow {
		found.add(at+".window", "must be at most 90d for a sliding_counter, got %s", FormatDuration(l.Window))
	}
	if c := l.Count; c != nil && len(c.Status)+len(c.Code) == 0 {
		found.add(at+".count", "must have a status or a code")
	}
	if l.Prefetch != nil {
		l.checkPrefetch(at+".prefetch", found)
	}
	if l.Share != 0 && (l.OnFailure == Open || l.OnFailure == Closed || l.OnFailure == "" && p.OnFailure != "" && p.OnFailure != Local) {
		found.add(at+".share", "applies only with on_failure: local")
	}
}

func (l *Limit) checkBurst(at string, found *problems) {
	burst := l.Burst
	if burst == 0 {
		burst = l.Limit
	}
	if burst > 0 && l.Cost > burst {
		found.add(at+".cost", "must be at most the burst %d, got %d: a larger cost never fits", burst, l.Cost)
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

func (l *Limit) kind() Kind {
	if l.Kind == "" {
		return SlidingLog
	}
	return l.Kind
}
