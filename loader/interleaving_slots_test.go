package loader_test

import (
	"math/rand/v2"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/servers"
	"github.com/rlfunc/rlfunc/loader"
)

// moveSlot moves a slot with its keys to another primary.
func moveSlot(t *testing.T, c *engines.Cluster, slot int, from, to *engines.Member) {
	t.Helper()
	do := func(m *engines.Member, args ...any) {
		t.Helper()
		if err := m.Client(t).Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.ClusterID(t))
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.ClusterID(t))
	host, port, _ := net.SplitHostPort(to.Addr)
	for _, key := range from.Client(t).ClusterGetKeysInSlot(t.Context(), slot, 100).Val() {
		do(from, "MIGRATE", host, port, key, 0, 5000)
	}
	for _, m := range []*engines.Member{to, from} {
		do(m, "CLUSTER", "SETSLOT", slot, "NODE", to.ClusterID(t))
	}
	for _, m := range c.Primaries {
		do(m, "CLUSTER", "SETSLOT", slot, "NODE", to.ClusterID(t))
	}
}

// On a real cluster, the slots of the records and of a revision move to another primary at some moment of two deploys.
func TestInterleaving_movingSlots(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	s := stage{actors: map[[2]string][]*actor{}}
	for _, m := range c.Primaries {
		s.primaries = append(s.primaries, m.Client(t))
	}
	s.connect = func(name string, hook redis.Hook) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: c.Addrs(), ClientName: name, MaxRedirects: -1, DisableIdentity: true, NewClient: func(o *redis.Options) *redis.Client {
				client := redis.NewClient(o)
				client.AddHook(hook)
				return client
			},
		})
	}
	owner := map[int]int{}
	for _, name := range []string{"deploy", "deploy:0", "deploy:1"} {
		slot := servers.Slot("{" + name + "}")
		for i := range 3 { // as StartCluster gives them
			if servers.Slots*i/3 <= slot {
				owner[slot] = i
			}
		}
	}
	for _, pair := range pairs {
		for seed := range uint64(2) {
			random := rand.New(rand.NewPCG(seed, 7))
			s.reset(t, false)
			names := [2]string{loader.OneByOne, loader.InReverse}
			who, left, moves := 0, 0, 20+random.IntN(60)
			_, wrong := s.play(t, pair, names, func() {
				for slot, from := range owner {
					owner[slot] = (from + 1) % 3
					moveSlot(t, c, slot, c.Primaries[from], c.Primaries[owner[slot]])
				}
			}, func(step int) int {
				if step == moves {
					return 2
				}
				if left--; left <= 0 {
					who, left = random.IntN(2), 1+random.IntN(1+random.IntN(40))
				}
				return who
			})
			if wrong != "" {
				t.Errorf("%s and %s, seed %d: %s", pair[0].name, pair[1].name, seed, wrong)
			}
		}
	}
}

// Behind Sentinel, a failover happens at some moment of two deploys. Whoever talked to the old primary is told so; the new one holds one
// version, which one of the two wanted, or the one before if both were cut off.
func TestInterleaving_failover(t *testing.T) {
	t.Parallel()
	sentinels := engines.OnPath(t).StartSentinels(t, 1)
	now := sentinels.Servers[0]
	for seed, pair := range [][2]deployment{pairs[0], pairs[2]} {
		random := rand.New(rand.NewPCG(uint64(seed), 7))
		s := stage{primaries: []*redis.Client{now.Client(t)}, actors: map[[2]string][]*actor{}, connect: func(name string, hook redis.Hook) redis.UniversalClient {
			client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: sentinels.Addrs(), ClientName: name, MaxRetries: -1})
			client.AddHook(hook)
			return client
		}}
		s.reset(t, false)
		must(t, now.Client(t).Wait(t.Context(), 1, 0).Err())
		old, who, left, failsOver := now, 0, 0, 5+random.IntN(30)
		actors := []*actor{{name: pair[0].name}, {name: pair[1].name}}
		for _, a := range actors {
			a.client = s.connect(loader.OneByOne, a)
			defer a.client.Close()
		}
		play(actors, pair, func() {
			old.Kill()
			now = sentinels.AwaitFailover(t, old)
		}, func(step int) int {
			if step == failsOver {
				return 2
			}
			if left--; left <= 0 {
				who, left = random.IntN(2), 1+random.IntN(20)
			}
			return who
		})
		if now == old {
			continue // both had ended before
		}
		got := versions(t, []*redis.Client{now.Client(t)})[0]
		for i, a := range actors {
			if a.err == nil && got != pair[i].want && got != pair[1-i].want {
				t.Errorf("%s and %s: %s was told that all is well, and the new primary holds %q", pair[0].name, pair[1].name, a.name, got)
			}
		}
		if got != pair[0].want && got != pair[1].want && got != v11.Version {
			t.Errorf("%s and %s: the new primary holds %q", pair[0].name, pair[1].name, got)
		}
		old.Restart(t)
		old.AwaitInfo(t, "role:slave", "master_link_status:up")
	}
}
