package telemetry

import (
	"sync/atomic"
	"time"
)

// A samplerKey is what a record is about.
type samplerKey struct{ endpoint, why string }

// A sampler lets the first record of each second through.
type sampler struct {
	second  atomic.Int64
	skipped atomic.Int64
}

// take tells whether a record is written, and how many were not since the one before.
func (s *sampler) take(now time.Time) (skipped int64, ok bool) {
	second := now.Unix()
	last := s.second.Load()
	if second != last && s.second.CompareAndSwap(last, second) {
		return s.skipped.Swap(0), true
	}
	s.skipped.Add(1)
	return 0, false
}
