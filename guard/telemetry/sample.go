package telemetry

import (
	"sync/atomic"
	"time"
)

// A samplerKey selects the records that share a sampler.
type samplerKey struct{ endpoint, why string }

// A sampler selects the first record of each second.
type sampler struct {
	second  atomic.Int64
	skipped atomic.Int64
}

// sample reports whether to write a record, and how many were skipped since the last one.
func (s *sampler) sample(now time.Time) (skipped int64, ok bool) {
	second := now.Unix()
	last := s.second.Load()
	if second != last && s.second.CompareAndSwap(last, second) {
		return s.skipped.Swap(0), true
	}
	s.skipped.Add(1)
	return 0, false
}
