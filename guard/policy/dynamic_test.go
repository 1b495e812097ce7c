package policy

import (
	"strings"
	"testing"
)

func TestCheck_dynamicMax(t *testing.T) {
	const file = "endpoints: [{name: a, limits: [{name: b, by: all, kind: fixed_window, limit: 5, window: 1m, dynamic_max: 100}]}]"
	if _, err := Parse("a.yaml", []byte(file)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, now, want string }{
		{"dynamic_max: 100", "dynamic_max: 0", "endpoints[0].limits[0].dynamic_max: must be 1 to 1000000000000, got 0"},
		{"kind: fixed_window, limit: 5, window: 1m, dynamic_max: 100", "limit: 5, window: 1m, dynamic_max: 1000001", "endpoints[0].limits[0].dynamic_max: must be 1 to 1000000 for a sliding_log, got 1000001"},
		{"kind: fixed_window", "kind: gcra", "endpoints[0].limits[0].dynamic_max: applies only to kind sliding_log and fixed_window, not to gcra"},
		{"kind: fixed_window", "kind: sliding_counter", "endpoints[0].limits[0].dynamic_max: applies only to kind sliding_log and fixed_window, not to sliding_counter"},
		{"kind: fixed_window, limit: 5, window: 1m", "kind: quota, limit: 5, every: day", "endpoints[0].limits[0].dynamic_max: applies only to kind sliding_log"},
		{"kind: fixed_window, limit: 5, window: 1m", "kind: concurrency, limit: 5", "endpoints[0].limits[0].dynamic_max: applies only to kind sliding_log"},
		{"dynamic_max: 100", "dynamic_max: 100, prefetch: {most: 2}", "endpoints[0].limits[0].dynamic_max: must not be combined with prefetch"},
		{"endpoints: [{name: a, limits: [", "limits: [", "limits[0].dynamic_max: applies only to a limit of an endpoint"},
	} {
		text := strings.Replace(file, c.old, c.now, 1)
		if strings.HasPrefix(text, "limits") {
			text = strings.TrimSuffix(text, "}]")
		}
		if _, err := Parse("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.now, err, c.want)
		}
	}
}
