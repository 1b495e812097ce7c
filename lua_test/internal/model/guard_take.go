package model

// Take answers take.
func (m *Guard) Take(subject string, l CheckLimit, most int64) (r AtMostResult, changed bool, err error) {
	if l.Kind == "sliding_log" || l.Cost != 1 {
		return r, false, ErrArgument
	}
	l.Shadow, l.Cost = false, 0
	row, err := m.limits.look(subject, l)
	if err != nil {
		return r, false, err
	}
	l.Cost = max(min(most, row.Remaining), 1)
	took, changed, err := m.limits.Check(subject, CheckCall{Limits: []CheckLimit{l}})
	if err != nil {
		return r, false, err
	}
	row = took.Limits[0]
	r = AtMostResult{Allowed: row.Allowed, Remaining: row.Remaining, ResetAfter: row.ResetAfter, RetryAfter: row.RetryAfter}
	if row.Allowed {
		r.Taken, r.Expires = l.Cost, expires(m.clock, row.ResetAfter)
	}
	return r, changed, nil
}
