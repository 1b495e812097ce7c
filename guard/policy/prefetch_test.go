package policy

import (
	"strings"
	"testing"
	"time"
)

func TestCheck_prefetch(t *testing.T) {
	const all = "limits: [{name: a, by: all, kind: gcra, limit: 5000, window: 1s, burst: 100, prefetch: {most: 100}}]"
	p, err := Parse("all.yaml", []byte(all))
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.Complete(); err != nil || *p.Limits[0].Prefetch != (Prefetch{Most: 100, For: 100 * time.Millisecond}) {
		t.Fatal(p, err)
	}
	for _, c := range []struct{ old, now, want string }{
		{"most: 100", "most: 101", "limits[0].prefetch.most: must be at most what the limit admits at once, 100, got 101"},
		{"most: 100", "most: 1", "limits[0].prefetch.most: must be 2 to 10000, got 1"},
		{"most: 100", "for: 1s", "limits[0].prefetch.most: is required"},
		{"most: 100", "most: 100, for: 11s", "limits[0].prefetch.for: must be 1ms to 10s, got 11s"},
		{"by: all, ", "", "limits[0].prefetch: applies only to a global limit, by: all"},
		{"kind: gcra, limit: 5000, window: 1s, burst: 100", "limit: 5000, window: 1s", "limits[0].prefetch: applies only to kind gcra, fixed_window and quota, not to sliding_log"},
		{"kind: gcra, limit: 5000, window: 1s, burst: 100", "kind: quota, every: day, limit: 99", "limits[0].prefetch.most: must be at most what the limit admits at once, 99, got 100"},
		{"burst: 100", "burst: 100, cost: 2", "limits[0].prefetch: applies only with cost 1, got 2"},
		{"burst: 100", "burst: 100, count: {status: [401]}", "limits[0].prefetch: must not be combined with count"},
	} {
		if _, err := Parse("all.yaml", []byte(strings.Replace(all, c.old, c.now, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.now, err, c.want)
		}
	}
}
