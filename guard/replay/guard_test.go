package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// TestRun_decidesLikeGuard compares the refusals of a guard on the same lines, by reason.
func TestRun_decidesLikeGuard(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		t.Run(policies[n].name, func(t *testing.T) {
			t.Parallel()
			log := traffic{seed: uint64(n), lines: 700, clients: 20, gap: 20 * time.Millisecond, bursts: 200, json: true}.String()
			p := policyOf(t, n)
			p.Timeout = time.Minute
			got := map[Reason]int64{}
			for _, c := range replay(t, log, policyOf(t, n), Options{}).Reasons {
				got[c.Reason] = c.Refused
			}
			if diff := cmp.Diff(guarded(t, log, n), got); diff != "" || len(got) == 0 {
				t.Errorf("refused by reason (-guard +replay):\n%s", diff)
			}
		})
	}
}

func guarded(t *testing.T, log string, n int) map[Reason]int64 {
	p := policyOf(t, n)
	p.Timeout = time.Minute // never exceeded
	clock := embedded.NewManualClock(time.UnixMicro(0))
	server := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() { server.Close() })
	client := server.Client()
	t.Cleanup(func() { client.Close() })
	g, err := guard.New(client, p, guard.Options{CacheSize: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	routes, err := newRoutes(p, "")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := accesslog.NewReader(strings.NewReader(log), accesslog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	block, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	refused := map[Reason]int64{}
	for _, l := range block.Lines {
		endpoint := routes.of(l.Method, l.Path).endpoint
		if endpoint < 0 {
			continue
		}
		clock.Set(l.Time)
		d, err := g.Decide(t.Context(), guard.Request{Endpoint: p.Endpoints[endpoint].Name, Subjects: []string{"ip=" + l.Addr}})
		if err != nil {
			t.Fatal(err)
		}
		if !d.Allowed {
			refused[Reason(d.Reason)]++
		}
	}
	return refused
}
