package policy

// checkPlaces checks that a concurrency has a lease and no window, and that any other limit has no lease.
func (l *Limit) checkPlaces(at string, found *problems) {
	if l.Kind != Concurrency {
		if l.Lease != 0 {
			found.add(at+".lease", "applies only to kind concurrency, not to %s", l.kind())
		}
		return
	}
	if l.Window != 0 {
		found.add(at+".window", "must be omitted for a concurrency: a request has its places until it ends")
	}
	if l.Count != nil {
		found.add(at+".count", "must be omitted for a concurrency: a request has its places whatever its response will be")
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
