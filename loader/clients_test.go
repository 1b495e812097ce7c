package loader_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// inDatabase returns a client of the engine in another database.
func inDatabase(t *testing.T, e engines.Engine, db int) *redis.Client {
	t.Helper()
	return e.Connect(t, func(o *redis.Options) { o.DB = db })
}

func TestDatabase_recordsAndLocksAreInDatabase0(t *testing.T) {
	lib, second := bundle("shop", "1.0.0", "buy"), bundle("other", "1.0.0", "look")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		third := inDatabase(t, e, 3)
		deploy(t, third, "anna", lib)
		stop := keepAnnouncing(t, third, lib, "pod-a")
		defer stop()
		equal(t, "keys in database 3", int64(0), third.DBSize(t.Context()).Val())
		equal(t, "history as database 0 has it", []string{"deploy by anna done: shop_v1 >1.0.0 loaded"}, story(t, client))
		equal(t, "history as database 3 has it", story(t, client), story(t, third))

		// A lock that is taken from one database holds against another.
		if err := client.Set(t.Context(), leaseOfOne, `{"by":"bert","id":"other"}`, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := apply(third, plan(t, third, second), loader.ApplyOptions{})
		says(t, err, loader.ErrLocked, "bert has held the lock")
		client.Del(t.Context(), leaseOfOne)

		for _, c := range []*redis.Client{client, third} {
			p, err := loader.NewTarget(c).PlanRetire(t.Context(), "shop_v1")
			if err != nil {
				t.Fatal(err)
			}
			says(t, p.InUse(), loader.ErrInUse, "pod-a")
		}
	})
}

// keepAnnouncing announces until the returned function is called, and returns after the first sign.
func keepAnnouncing(t *testing.T, client *redis.Client, lib *fcall.Library, instance string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		loader.Announce(ctx, client, lib, loader.AnnounceOptions{Instance: instance, OnError: func(err error) { t.Error(err) }})
	}()
	for seen := 0; seen == 0; {
		clients, err := loader.NewTarget(client).Clients(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen = len(clients)
	}
	return func() {
		cancel()
		<-done
	}
}

// Every kind of target keeps its records in database 0, whatever database its clients use.
func TestDatabase_recordsOfEveryKindOfTarget(t *testing.T) {
	t.Parallel()
	program := engines.OnPath(t)
	lib := bundle("shop", "1.0.0", "buy")
	check := func(t *testing.T, target *loader.Target, m *engines.Member) {
		t.Helper()
		deployTo(t, target, "anna", lib)
		zero := m.Client(t)
		equal(t, "history in database 0", int64(2), zero.LLen(t.Context(), "rlfunc:{deploy}:history").Val())
		equal(t, "databases", []int64{3, 0}, []int64{zero.DBSize(t.Context()).Val(), inThree(t, m).DBSize(t.Context()).Val()})
	}
	t.Run("ring", func(t *testing.T) {
		m := program.Start(t)
		ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": m.Addr}, DB: 3})
		defer ring.Close()
		check(t, loader.NewTarget(ring), m)
	})
	t.Run("a client that selects", func(t *testing.T) {
		m := program.Start(t)
		client := redis.NewClient(&redis.Options{Addr: m.Addr, OnConnect: func(ctx context.Context, c *redis.Conn) error { return c.Select(ctx, 3).Err() }})
		defer client.Close()
		check(t, loader.NewTarget(client), m)
	})
	t.Run("unix socket", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s")
		m := program.Start(t, "--unixsocket", path)
		check(t, open(t, "unix://"+path+"?db=3"), m)
	})
	t.Run("TLS", func(t *testing.T) {
		certificates := engines.NewCertificates(t)
		m := program.TLS(t, certificates).Start(t)
		check(t, open(t, "rediss://"+m.Addr+"/3"+certificates.Query()), m)
	})
	t.Run("Sentinel", func(t *testing.T) {
		s := program.StartSentinels(t, 0)
		check(t, open(t, "redis+sentinel://main@"+strings.Join(s.Addrs(), ",")+"/3"), s.Servers[0])
	})
	t.Run("clients of Sentinel", func(t *testing.T) {
		s := program.StartSentinels(t, 0)
		failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: s.Addrs(), DB: 3})
		defer failover.Close()
		check(t, loader.NewTarget(failover), s.Servers[0])
		readers := redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: s.Addrs(), DB: 3})
		defer readers.Close()
		equal(t, "history of a client that also reads from replicas", 1, len(history(t, readers)))
	})
}

func inThree(t *testing.T, m *engines.Member) *redis.Client {
	t.Helper()
	o := *m.Client(t).Options()
	o.DB = 3
	c := redis.NewClient(&o)
	t.Cleanup(func() { c.Close() })
	return c
}
