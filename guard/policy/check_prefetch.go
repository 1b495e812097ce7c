package policy

import "cmp"

// checkPrefetch finds limits whose tokens cannot be taken in batches.
func (l *Limit) checkPrefetch(at string, found *problems) {
	switch atOnce := cmp.Or(l.Burst, l.Limit); {
	case l.kind() != GCRA && l.kind() != FixedWindow && l.kind() != Quota:
		found.add(at, "applies only to kind gcra, fixed_window and quota, not to %s: only these bound what a batch admits later than it was taken", l.kind())
	case !l.By.Global():
		found.add(at, "applies only to a global limit, by: all: a process would hold tokens of each subject")
	case l.Cost > 1:
		found.add(at, "applies only with cost 1, got %d", l.Cost)
	case l.Count != nil:
		found.add(at, "must not be combined with count")
	case atOnce > 0 && l.Prefetch.Most > atOnce:
		found.add(at+".most", "must be at most what the limit admits at once, %d, got %d", atOnce, l.Prefetch.Most)
	}
}
