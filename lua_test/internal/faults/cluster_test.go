package faults

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// toCluster are three processes that call a cluster, which each learn of it by themselves.
func toCluster(t testing.TB, c *engines.Cluster) load {
	t.Helper()
	var l load
	for range 3 {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()[:2], ContextTimeoutEnabled: true, ReadTimeout: unhurried})
		t.Cleanup(func() { client.Close() })
		l.clients = append(l.clients, client)
	}
	return l
}

// A replica takes over on a person's word: the primary lets it catch up first.
func TestClusterFailover_onPurposeLosesNothing(t *testing.T) {
	onPrograms(t, failoverOnPurpose)
}

func failoverOnPurpose(t *testing.T, p engines.Program) {
	c := p.StartCluster(t, 3, 1)
	l := toCluster(t, c)
	l.deadline = unhurried
	tr := begin(t, l)
	for i, next := range c.Replicas {
		c.AwaitEpoch(t)
		next.TakeOver(t)
		c.Primaries[i].AwaitInfo(t, "role:slave", "master_link_status:up")
	}
	tr.awaitCalm(t, 1000)
	r := tr.end(t)
	r.none(t)
	r.nothingDestroyed(t)
}

// A primary dies. Its answers that it had not replicated are lost and can be admitted once more; no others are.
func TestClusterFailover_ofAPrimaryThatDied(t *testing.T) {
	c := engines.OnPath(t).StartCluster(t, 3, 1)
	tr := begin(t, toCluster(t, c))
	c.Primaries[0].Kill()
	c.Replicas[0].AwaitInfo(t, "role:master")
	tr.awaitCalm(t, 1000)
	r := tr.end(t)
	r.only(t, cutOff, notBegun, tooLate, noTime, "nothing ran: CLUSTERDOWN")
	r.destroyed(t, 1)
	r.within(t, tr.deadline)
}

// Most primaries are paused: the cluster is down, and reports it as soon as it detects it. It recovers by itself.
func TestClusterDown_deadlinesHoldAndItComesBack(t *testing.T) {
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	tr := begin(t, toCluster(t, c))
	for _, m := range c.Primaries[:2] {
		m.Pause(t)
	}
	tr.awaitFailed(t, "nothing ran: CLUSTERDOWN", 50)
	for _, m := range c.Primaries[:2] {
		m.Resume(t)
	}
	c.Await(t)
	tr.awaitCalm(t, 1000)
	r := tr.end(t)
	r.only(t, cutOff, notBegun, tooLate, noTime, "nothing ran: CLUSTERDOWN")
	r.nothingDestroyed(t)
	r.within(t, tr.deadline)
}

// A slot moves key by key, while its keys are called: also to a primary that has joined without the libraries.
func TestSlots_moveUnderTraffic(t *testing.T) {
	program := engines.OnPath(t)
	c := program.StartCluster(t, 3, 0)
	l := toCluster(t, c)
	l.deadline = unhurried
	tr := begin(t, l)
	joined := c.Join(t, program)
	began := time.Now()
	slots := engines.NewMove(t, c.Primaries[0], joined).All()
	slots += engines.NewMove(t, c.Primaries[1], c.Primaries[2]).All()
	t.Logf("%d slots with keys moved in %v", slots, time.Since(began))
	tr.awaitAnswers(t, 500)
	r := tr.end(t)
	r.none(t)
	r.nothingDestroyed(t)
	if joined.Client(t).DBSize(t.Context()).Val() == 0 {
		t.Error("no key has moved")
	}
}

// A call with several keys, of which not all are there, can run on neither side of a slot that moves: it waits for the slot.
func TestSlots_aCallWaitsForItsSlot(t *testing.T) {
	onPrograms(t, callOfASlotThatMoves)
}

func callOfASlotThatMoves(t *testing.T, program engines.Program) {
	c := program.StartCluster(t, 2, 0)
	client := c.Client(t)
	deploy(t, client)
	limits, err := ratelimit.New(client, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := ratelimit.SlidingLogParams{Subject: "user1", Limit: 10, Window: time.Hour}
	if _, err := limits.SlidingLog(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p.Receipt = "new" // its key is not there, and the log is
	from, to := c.Primaries[0], c.Primaries[1]
	slot := int(client.ClusterKeySlot(t.Context(), "{user1}").Val())
	if slot >= 16384/2 {
		from, to = to, from
	}
	counted := make(chan int64, 1)
	engines.NewMove(t, from, to).Slot(slot, func() {
		go func() {
			r, err := limits.SlidingLog(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			counted <- r.Count
		}()
		from.AwaitInfo(t, "errorstat_TRYAGAIN:count=5") // more often than a call is sent otherwise
	})
	if n := <-counted; n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
}
