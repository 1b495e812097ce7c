package callertest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// Many callers find the library missing, and one loads it. It is there after that.
func (s suite) missingLibrary(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	c := s.client(t, Target{Addrs: []string{m.Addr}})
	together(64, func(i int) {
		if _, err := hit(t, c, fmt.Sprintf("k:{%d}", i%8)); err != nil {
			t.Error(err)
		}
	})
	sum := 0
	for i := range 8 {
		sum += ran(t, m.Addr, fmt.Sprintf("k:{%d}", i))
	}
	if sum != 64 {
		t.Errorf("64 calls ran %d times", sum)
	}
	want := fcall.Stats{NotLoaded: c.Stats().NotLoaded, Loads: 1}
	if n, got := loads(t, m), c.Stats(); n != 1 || got != want || got.NotLoaded == 0 || got.NotLoaded > 64 {
		t.Errorf("the server took %d loads, and the client counts %+v, want 1", n, got)
	}
	if _, err := call(t.Context(), c, "absent", "k"); err == nil || c.Stats().Loads != 1 {
		t.Errorf("a function that the library lacks: %v, %+v", err, c.Stats())
	}
}

// Each node of a cluster gets one load, for any number of keys.
func (s suite) missingLibraryByNode(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 3, 0)
	c := s.client(t, clusterOf(cluster))
	together(64, func(i int) {
		if _, err := hit(t, c, fmt.Sprintf("k:{%d}", i)); err != nil {
			t.Error(err)
		}
	})
	for _, m := range cluster.Primaries {
		if n := loads(t, m); n != 1 {
			t.Errorf("%s took %d loads, want 1", m.Addr, n)
		}
	}
	if got := c.Stats(); got.Loads != 3 || got.Refused != 0 {
		t.Errorf("stats are %+v, want 3 loads", got)
	}
	for i := range 64 {
		subject := fcall.Subject(fmt.Sprint(i))
		key := fcall.Key(c.Namespace(), subject, "n")
		primary, _ := ends(t, cluster, key)
		if got := c.Node(t.Context(), subject); got != primary.Addr {
			t.Errorf("the node of %s is %s, want %s", key, got, primary.Addr)
		}
	}
}

// Calls follow a slot that moves, by ASK and then by MOVED, also to a node without the library.
func (s suite) movingSlots(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 3, 0)
	for _, moved := range []bool{false, true} {
		for _, loaded := range []bool{true, false} {
			t.Run(fmt.Sprintf("moved=%v/loaded=%v", moved, loaded), func(t *testing.T) {
				flush(t, cluster.Primaries...)
				for _, m := range cluster.Primaries {
					load(t, m)
				}
				rdb := s.open(t, clusterOf(cluster))
				c, key := clientOf(t, rdb, fcall.Options{}), t.Name()
				from, to := ends(t, cluster, key)
				if !loaded {
					flush(t, to)
				}
				slot := slotOf(t, from.Client(t), key)
				if _, err := hit(t, c, key); err != nil { // the client knows the old node
					t.Fatal(err)
				}
				run(t, from.Client(t), "DEL", key)
				run(t, to.Client(t), "CLUSTER", "SETSLOT", slot, "IMPORTING", from.ClusterID(t))
				run(t, from.Client(t), "CLUSTER", "SETSLOT", slot, "MIGRATING", to.ClusterID(t))
				if moved {
					for _, m := range []*engines.Member{to, from} {
						run(t, m.Client(t), "CLUSTER", "SETSLOT", slot, "NODE", to.ClusterID(t))
					}
				}
				if n, err := hit(t, c, key); n != 1 || err != nil {
					t.Errorf("%d, %v, want 1", n, err)
				}
				want := fcall.Stats{}
				if !loaded {
					want = fcall.Stats{NotLoaded: 1, Loads: 1}
				}
				if got := c.Stats(); got != want {
					t.Errorf("stats are %+v, want %+v", got, want)
				}
				if n, err := queue(t.Context(), c, rdb, key); n != 2 || err != nil {
					t.Errorf("queued: %d, %v, want 2", n, err)
				}
			})
		}
	}
}

// ends returns the primary of a key and another one.
func ends(t *testing.T, cluster *engines.Cluster, key string) (from, to *engines.Member) {
	t.Helper()
	node, err := cluster.Client(t).MasterForKey(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range cluster.Primaries {
		if m.Addr == node.Options().Addr {
			from = m
		} else {
			to = m
		}
	}
	return from, to
}

func together(callers int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
