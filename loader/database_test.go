package loader_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// inDatabase returns a client of the engine in another database.
func inDatabase(t *testing.T, e engines.Engine, db int) *redis.Client {
	t.Helper()
	return e.Connect(t, func(o *redis.Options) { o.DB = db })
}

func TestDatabase_recordsAreInDatabase0(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		third := inDatabase(t, e, 3)
		deploy(t, third, "anna", lib)
		equal(t, "keys in database 3", int64(0), third.DBSize(t.Context()).Val())
		equal(t, "history as database 0 has it", []string{"deploy by anna done: shop_v1 >1.0.0 loaded"}, story(t, client))
		equal(t, "history as database 3 has it", story(t, client), story(t, third))
	})
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
		equal(t, "databases", []int64{5, 0}, []int64{zero.DBSize(t.Context()).Val(), inThree(t, m).DBSize(t.Context()).Val()})
	}
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
	t.Run("a client of Sentinel", func(t *testing.T) {
		s := program.StartSentinels(t, 0)
		failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: s.Addrs(), DB: 3})
		defer failover.Close()
		check(t, loader.NewTarget(failover), s.Servers[0])
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
