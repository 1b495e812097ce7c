package callertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/acl"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// Every reply of a server means the same as over go-redis.
func (s suite) errorsOfGoRedis(t *testing.T) {
	for name, to := range s.at {
		ours, theirs := s.client(t, to), clientOf(t, adminOf(t, to.Addrs[0]), fcall.Options{})
		for _, function := range []string{"hit", "look", "arg", "state", "quota", "crash", "wrongtype", "nested", "nothing", "absent"} {
			t.Run(name+"/"+function, func(t *testing.T) {
				admin, outcome := adminOf(t, to.Addrs[0]), [2]string{}
				for i, c := range []*fcall.Client{theirs, ours} {
					if err := admin.Del(t.Context(), t.Name()).Err(); err != nil {
						t.Fatal(err)
					}
					n, err := call(t.Context(), c, function, t.Name())
					outcome[i] = fmt.Sprint(n, " ", err)
				}
				if diff := cmp.Diff(outcome[0], outcome[1]); diff != "" {
					t.Errorf("(-go-redis +got)\n%s", diff)
				}
			})
		}
	}
}

func (s suite) permissions(t *testing.T) {
	for name, to := range places(t) {
		admin := adminOf(t, to.Addrs[0])
		for _, u := range []struct {
			name, rule string
			is         error
			text       string
		}{
			{"nofcall", "-fcall", fcall.ErrNoPermission, "NOPERM"},
			{"nokeys", "resetkeys", fcall.ErrNoPermission, "NOPERM"},
			{"noload", "-function|load", fcall.ErrNotLoaded, "the user needs +function|load"},
			{"all", "+@all", nil, ""},
		} {
			t.Run(name+"/"+u.name, func(t *testing.T) {
				run(t, admin, "ACL", "SETUSER", u.name, "on", ">pw", "~*", "+@all", u.rule)
				run(t, admin, "FUNCTION", "FLUSH")
				if u.is != fcall.ErrNotLoaded {
					run(t, admin, "FUNCTION", "LOAD", counting.Library.Code)
				}
				to.Username, to.Password = u.name, "pw"
				_, err := hit(t, s.client(t, to), t.Name())
				if !errors.Is(err, u.is) || u.is != nil && !strings.Contains(err.Error(), u.text) {
					t.Errorf("error is %v, want %v with %q", err, u.is, u.text)
				}
			})
		}
	}
}

// RunWithLeastPermissions calls, and loads a missing library, as a user of `rlfunc acl service --auto-load`, on a cluster with
// --cluster.
func RunWithLeastPermissions(t *testing.T, open Open) {
	for name, to := range places(t) {
		t.Run(name, func(t *testing.T) {
			rule := acl.Rule{Keys: []string{"~*"}, Commands: []string{"fcall", "incr", "pexpire"}}.And(acl.AutoLoading)
			if to.Cluster {
				rule = rule.And(acl.Cluster).And(acl.AutoLoadingByKey)
			}
			var words []any
			for word := range strings.FieldsSeq(rule.SetUser("service") + " >pw") {
				words = append(words, word)
			}
			admin := adminOf(t, to.Addrs[0])
			run(t, admin, words...)
			run(t, admin, "FUNCTION", "FLUSH")
			to.Username, to.Password = "service", "pw"
			if n, err := hit(t, suite{open: open}.client(t, to), "k"); n != 1 || err != nil {
				t.Errorf("%d, %v, want 1", n, err)
			}
			if log := run(t, admin, "ACL", "LOG"); strings.Contains(log, "function") || strings.Contains(log, "watch") {
				t.Errorf("the server refused something: %s", log)
			}
		})
	}
}

// After a failover, calls run on the new primary.
func (s suite) failover(t *testing.T) {
	sentinels := engines.OnPath(t).StartSentinels(t, 1)
	old := sentinels.Servers[0]
	load(t, old)
	c := s.client(t, Target{Addrs: sentinels.Addrs(), Sentinel: "main"})
	if n, err := hit(t, c, "k"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	old.AwaitReplicas(t, 1)
	old.Kill()
	now := sentinels.AwaitFailover(t, old)
	var outcomes tally
	eventually(t, "calls run again", func() error {
		_, err := hit(t, c, "k")
		outcomes.add(t, err)
		return err
	})
	outcomes.answered++ // before the failover
	outcomes.check(t, ran(t, now.Addr, "k"))
}

func flush(t *testing.T, members ...*engines.Member) {
	t.Helper()
	for _, m := range members {
		run(t, m.Client(t), "FUNCTION", "FLUSH")
		run(t, m.Client(t), "CONFIG", "RESETSTAT")
	}
}

// loads returns how many loads of a server succeeded.
func loads(t *testing.T, m *engines.Member) (n int) {
	t.Helper()
	info := m.Client(t).Info(context.Background(), "commandstats").Val()
	for line := range strings.Lines(info) {
		var calls, failed int
		if rest, ok := strings.CutPrefix(line, "cmdstat_function|load:calls="); ok {
			_, _ = fmt.Sscanf(rest, "%d,", &calls)
			_, tail, _ := strings.Cut(rest, "failed_calls=")
			_, _ = fmt.Sscanf(tail, "%d", &failed)
			n = calls - failed
		}
	}
	return n
}

func clusterOf(c *engines.Cluster) Target { return Target{Addrs: c.Addrs(), Cluster: true} }

func slotOf(t *testing.T, c *redis.Client, key string) int64 {
	t.Helper()
	return c.ClusterKeySlot(t.Context(), key).Val()
}
