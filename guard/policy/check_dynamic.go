package policy

// checkDynamic finds limits that a request must not replace.
func (l *Limit) checkDynamic(at, endpoint string, found *problems) {
	switch k := l.kind(); {
	case endpoint == "":
		found.add(at, "applies only to a limit of an endpoint: a request replaces the limits of its endpoint")
	case k != SlidingLog && k != FixedWindow:
		found.add(at, "applies only to kind sliding_log and fixed_window, not to %s: only these count the same in any window", k)
	case l.Prefetch != nil:
		found.add(at, "must not be combined with prefetch")
	}
}
