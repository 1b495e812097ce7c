package engines_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestCluster_replicatesAndTakesAnotherNode(t *testing.T) {
	c := engines.OnPath(t).StartCluster(t, 3, 1)
	client := c.Client(t)
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	m := c.Join(t, engines.OnPath(t))
	if slots := m.Client(t).Do(t.Context(), "CLUSTER", "SLOTS").Val().([]any); len(slots) != 3 {
		t.Errorf("the new node sees %d slot ranges", len(slots))
	}
}

func TestMember_isKilledPausedAndStartedAgain(t *testing.T) {
	t.Run("path", func(t *testing.T) { isKilledPausedAndStartedAgain(t, engines.OnPath(t)) })
	t.Run("images", func(t *testing.T) {
		for _, p := range engines.Images(t) {
			t.Run(p.Name, func(t *testing.T) { isKilledPausedAndStartedAgain(t, p) })
		}
	})
}

func isKilledPausedAndStartedAgain(t *testing.T, p engines.Program) {
	m := p.Start(t)
	r := m.StartReplica(t)
	client := m.Client(t)
	m.Pause(t)
	if err := m.Client(t).WithTimeout(50 * time.Millisecond).Ping(t.Context()).Err(); err == nil {
		t.Error("a paused server answers")
	}
	m.Resume(t)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	m.Kill()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answers")
	}
	m.Restart(t)
	r.AwaitInfo(t, "master_link_status:up")
	if n, err := m.Client(t).Wait(t.Context(), 1, time.Second).Result(); n != 1 {
		t.Errorf("%d replicas, %v", n, err)
	}
}
