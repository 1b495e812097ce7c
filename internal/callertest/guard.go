package callertest

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

const limits = `
version: 1
timeout: 10s
on_failure: closed
endpoints:
  - name: chat
    match: ["POST /chat"]
    limits:
      - {name: mine, by: ip, limit: 10, window: 1h}
  - name: search
    match: ["GET /search"]
    limits:
      - {name: mine, by: ip, limit: 10, window: 1h}
      - {name: all, by: all, limit: 15, window: 1h}
`

// Guard admits 10 of 50 requests at once against a limit of 10. Limits of two subjects, on different nodes of a cluster, hold
// together.
func (s suite) guardAdmits(t *testing.T) {
	server, cluster := engines.OnPath(t).Start(t), engines.OnPath(t).StartCluster(t, 3, 0)
	for name, to := range map[string]Target{"server": {Addrs: []string{server.Addr}}, "cluster": clusterOf(cluster)} {
		t.Run(name, func(t *testing.T) {
			p, err := policy.Parse("limits.yaml", []byte(limits))
			if err != nil {
				t.Fatal(err)
			}
			g, err := guard.New(s.open(t, to), p, guard.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			decide := func(endpoint, subject string) (allowed int) {
				d, err := g.Decide(context.Background(), guard.Request{Endpoint: endpoint, Subjects: []string{"ip=" + subject}})
				if err != nil {
					t.Error(err)
				} else if d.Allowed {
					return 1
				}
				return 0
			}
			passed := make(chan int, 50)
			together(cap(passed), func(int) { passed <- decide("chat", "192.0.2.1") })
			total := 0
			for range cap(passed) {
				total += <-passed
			}
			if total != 10 {
				t.Errorf("%d of 50 passed, want 10", total)
			}
			total = 0
			for range 10 {
				total += decide("search", "192.0.2.1")
			}
			for range 6 { // the last meets the global limit
				total += decide("search", "192.0.2.2")
			}
			if total != 15 {
				t.Errorf("%d passed, want 15", total)
			}
		})
	}
}

// Guard decides with the new primary after a failover behind a proxy that puts its own word before the old primary's.
func (s suite) guardRecovers(t *testing.T) {
	for name, to := range s.at {
		t.Run(name, func(t *testing.T) {
			p, err := policy.Parse("limits.yaml", []byte(limits))
			if err != nil {
				t.Fatal(err)
			}
			rdb, proxy := s.through(t, to)
			g, err := guard.New(rdb, p, guard.Options{BreakFor: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			decide := func() error {
				_, err := g.Decide(t.Context(), guard.Request{Endpoint: "search", Subjects: []string{"ip=192.0.2.1"}})
				return err
			}
			together(32, func(int) {
				if err := decide(); err != nil {
					t.Error(err)
				}
			})
			proxy.Refuse("-ERR "+readOnly+"\r\n", false)
			eventually(t, "guard has left the old primary", func() error {
				for range 10 {
					if err := decide(); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
