package requires_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/requires"
)

func TestServers_Met(t *testing.T) {
	both := requires.Servers{{Product: "redis", Version: "7.4"}, {Product: "valkey", Version: "9.0.1"}}
	for _, c := range []struct {
		required         requires.Servers
		product, version string
		want             bool
	}{
		{nil, "Redis", "7.0.0", true},
		{nil, "", "", true},
		{both, "Redis", "7.4.0", true},
		{both, "Redis", "7.10.1", true},
		{both, "Redis", "8.0.2", true},
		{both, "Redis", "7.2.6", false},
		{both, "Redis", "", false},
		{both, "Redis", "unstable", false},
		{both, "Valkey", "9.0.0", false},
		{both, "Valkey", "9.0.1", true},
		{both, "valkey", "9.1", true},
		{both[:1], "Valkey", "9.1.2", false},
		{both, "Kvrocks", "9.9.9", false},
		{both, "", "9.9.9", false},
	} {
		if got := c.required.Met(c.product, c.version); got != c.want {
			t.Errorf("%q met by %s %s: %t, want %t", c.required, c.product, c.version, got, c.want)
		}
	}
}

func TestParse_readsField(t *testing.T) {
	both := requires.Servers{{Product: "redis", Version: "7.4"}, {Product: "valkey", Version: "9.0.1"}}
	if got := both.Field(); got != "redis-7.4,valkey-9.0.1" {
		t.Errorf("field %q", got)
	}
	if diff := cmp.Diff(both, requires.Parse(both.Field()+",dragonfly-1.0")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := requires.Parse(""); got != nil {
		t.Errorf("none is %v", got)
	}
}
