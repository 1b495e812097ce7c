package luatest

import (
	"testing"
	"time"
)

// CheckTTLs runs do and then holds what every key has left against what it was given: at most that, and at least that
// less the time that do and the look took.
func (s *Server) CheckTTLs(t testing.TB, want map[string]time.Duration, do func()) {
	t.Helper()
	began := time.Now()
	do()
	got := map[string]time.Duration{}
	keys, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Both ends are rounded to a millisecond.
	slack := time.Since(began) + 2*time.Millisecond
	for name, k := range keys {
		got[name] = k.TTL
	}
	for name, ttl := range want {
		if got[name] > ttl || got[name] < ttl-slack {
			t.Errorf("%s: %s has %s left, want %s less at most %s", s.Engine, name, got[name], ttl, slack)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("%s: keys that were not expected: %v", s.Engine, got)
	}
}
