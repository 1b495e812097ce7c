package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
)

// A FAILOVER pauses callers until the replica has everything, longer than their deadline: nothing is lost or counted twice.
func TestFailover_coordinatedLosesNothing(t *testing.T) {
	a := engines.OnPath(t).Start(t)
	b := a.StartReplica(t)
	var name address
	l := name.load(t, a)
	l.deadline = 250 * time.Millisecond
	tr := begin(t, l)
	tr.awaitAnswers(t, 500)
	do(t, a, "FAILOVER", "TO", "127.0.0.1", port(b))
	b.AwaitInfo(t, "role:master")
	name.to.Store(b)
	tr.awaitAnswers(t, 500)
	r := tr.end(t)
	r.only(t, "nothing ran: READONLY", tooLate, noTime)
	r.within(t, tr.deadline)
	r.nothingDestroyed(t)
	holds(t, b, len(libraries))
}

// Admissions that a primary had not replicated when it crashed can be admitted once more.
func TestPromotion_losesWhatWasNotReplicated(t *testing.T) {
	a := engines.OnPath(t).Start(t)
	b := a.StartReplica(t)
	var name address
	tr := begin(t, name.load(t, a))
	tr.awaitAnswers(t, 500)
	replicated(t, a)
	do(t, b, "REPLICAOF", "127.0.0.1", "1") // it keeps what it has, and gets no more
	tr.awaitAnswers(t, 500)
	a.Kill()
	do(t, b, "REPLICAOF", "NO", "ONE")
	name.to.Store(b)
	tr.awaitAnswers(t, 1000)
	r := tr.end(t)
	r.only(t, notBegun, cutOff, noTime)
	r.destroyed(t, 1)
	if len(r.Lost) == 0 {
		t.Errorf("nothing is lost that was not replicated: %s", r)
	}
	holds(t, b, len(libraries))
}

// Sentinel promotes the replica of a primary that has crashed, and callers find it by themselves. The libraries are there.
func TestSentinel_aFailoverUnderTraffic(t *testing.T) {
	s := engines.OnPath(t).StartSentinels(t, 1)
	old := s.Servers[0]
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: s.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	tr := begin(t, load{clients: []redis.UniversalClient{c}})
	tr.awaitAnswers(t, 500)
	old.Kill()
	now := s.AwaitFailover(t, old)
	tr.awaitAnswers(t, 1000)
	r := tr.end(t)
	r.only(t, cutOff, notBegun, tooLate, noTime, "nothing ran: READONLY")
	r.within(t, tr.deadline)
	r.destroyed(t, 1)
	holds(t, now, len(libraries))
}

// A replica that was cut off since before the deploy is promoted with neither keys nor libraries: its callers load them.
func TestPromotion_ofAReplicaThatNeverHadTheLibrary(t *testing.T) {
	a := engines.OnPath(t).Start(t)
	b := a.StartReplica(t)
	do(t, b, "REPLICAOF", "127.0.0.1", "1")
	var name address
	tr := begin(t, name.load(t, a))
	tr.awaitAnswers(t, 1000)
	holds(t, b, 0)
	a.Kill()
	do(t, b, "REPLICAOF", "NO", "ONE")
	name.to.Store(b)
	tr.awaitAnswers(t, 1000)
	r := tr.end(t)
	r.only(t, notBegun, cutOff, noTime)
	r.destroyed(t, 1)
	holds(t, b, len(libraries))
}

// A primary that saves nothing comes back empty, and its replica empties itself after it. Callers load the libraries on the primary,
// and the replica has them from there.
func TestReplica_ofAnEmptiedPrimary(t *testing.T) {
	a := engines.OnPath(t).Start(t)
	b := a.StartReplica(t)
	tr := begin(t, to(t, a))
	tr.awaitAnswers(t, 1000)
	a.Kill()
	a.Restart(t)
	primary, replica := a.Client(t), b.Client(t)
	poll(t, "the replica to follow", func() error {
		if p, r := history(t, primary), history(t, replica); p != r {
			return fmt.Errorf("it follows %s, and the primary's history is %s", r, p)
		}
		return nil
	})
	b.AwaitInfo(t, "master_link_status:up")
	tr.awaitAnswers(t, 1000)
	r := tr.end(t)
	r.only(t, notBegun, cutOff, noTime)
	r.destroyed(t, 1)
	replicated(t, a)
	holds(t, b, len(libraries))
}

// history is what INFO calls the history of a server's data: a replica has its primary's once it has taken over its data.
func history(t *testing.T, c *redis.Client) string {
	t.Helper()
	_, rest, _ := strings.Cut(c.Info(t.Context(), "replication").Val(), "master_replid:")
	id, _, _ := strings.Cut(rest, "\r")
	return id
}

// replicated waits until a replica has all that the server has written so far. A new replica is sent nothing for up to a second.
func replicated(t *testing.T, m *engines.Member) {
	t.Helper()
	c := m.Client(t).Conn()
	defer c.Close()
	err := c.Set(t.Context(), "barrier", 1, window).Err()
	if n, waited := c.Wait(t.Context(), 1, patience).Result(); err != nil || waited != nil || n != 1 {
		t.Fatalf("%d replicas of %s have caught up: %v, %v", n, m.Addr, err, waited)
	}
}
