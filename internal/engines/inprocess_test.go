package engines_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestEmbedded_hasAClockThatTheTestMoves(t *testing.T) {
	for _, e := range engines.All(t) {
		if e.Real {
			if e.Embedded != nil || e.Clock != nil {
				t.Errorf("%s has the embedded engine's fields", e.Name)
			}
			continue
		}
		for _, visit := range []string{"first", "next"} {
			t.Run(visit, func(t *testing.T) {
				c := e.Client(t)
				if diff := cmp.Diff(engines.Start, c.Time(t.Context()).Val().UTC()); diff != "" {
					t.Errorf("TIME when the test begins (-want +got):\n%s", diff)
				}
				if err := c.Set(t.Context(), "k", "v", time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
				e.Clock.Advance(time.Minute)
				got := redis.NewStringCmd(t.Context(), "GET", "k")
				if err := e.Embedded.Process(t.Context(), got); err != nil {
					t.Errorf("in its last millisecond, without a connection: %v", err)
				}
				e.Clock.Advance(time.Millisecond)
				if err := c.Get(t.Context(), "k").Err(); err != redis.Nil {
					t.Errorf("a millisecond later: %v, want nil", err)
				}
			})
		}
	}
}

func TestOwn_embeddedTakesSettings(t *testing.T) {
	for _, e := range engines.All(t) {
		if e.Real {
			continue
		}
		own := e.Own(t, "--maxmemory", "1mb")
		c := own.Client(t)
		if got := c.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "1048576" {
			t.Errorf("maxmemory is %s", got)
		}
		if own.Clock == e.Clock {
			t.Error("the two servers have one clock")
		}
	}
}
