package fcall_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/codegen/acl"
)

// The rules of `rlfunc acl service --auto-load` suffice, on a cluster those with --cluster.
func TestAutoLoad_needsNoMorePermissionsThanItSays(t *testing.T) {
	t.Parallel()
	plain, clustered := startRedis(t), startCluster(t)
	caller := acl.Rule{Keys: []string{"~*"}, Commands: []string{"fcall", "incr", "pexpire"}}.And(acl.AutoLoading)
	inCluster := caller.And(acl.Cluster).And(acl.AutoLoadingByKey)
	for _, addr := range []string{plain, clustered} {
		rule := caller
		if addr == clustered {
			rule = inCluster
		}
		words := strings.Fields(rule.SetUser("service"))
		args := make([]any, 0, len(words)+2)
		for _, w := range words {
			args = append(args, w)
		}
		if err := admin(t, addr).Do(t.Context(), append(args, ">pw")...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	alone := redis.NewClient(&redis.Options{Addr: plain, Username: "service", Password: "pw"})
	defer alone.Close()
	many := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{clustered}, Username: "service", Password: "pw"})
	defer many.Close()
	for name, caller := range map[string]fcall.Caller{"client": alone, "cluster": many} {
		addr := clustered
		if name == "client" {
			addr = plain
		}
		forget(t, addr)
		if _, err := hit(newClient(t, caller, fcall.Options{}), "k"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		log := admin(t, addr).Do(t.Context(), "ACL", "LOG").String()
		if strings.Contains(log, "function") || strings.Contains(log, "watch") {
			t.Errorf("%s: the server refused something: %s", name, log)
		}
	}
}
