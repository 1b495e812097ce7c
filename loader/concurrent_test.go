package loader_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// clusterOf connects to a cluster; each client of a node gets the hook that hooks makes for its address, if any.
func clusterOf(t testing.TB, addrs []string, user string, hooks func(addr string) redis.Hook) *redis.ClusterClient {
	t.Helper()
	o := &redis.ClusterOptions{Addrs: addrs, MaxRedirects: -1, Username: user, NewClient: func(o *redis.Options) *redis.Client {
		c := redis.NewClient(o)
		if hook := hooks(o.Addr); hook != nil {
			c.AddHook(hook)
		}
		return c
	}}
	if user != "" {
		o.Password = "secret"
	}
	c := redis.NewClusterClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func none(string) redis.Hook { return nil }

// lockKeys returns the keys of the locks on the nodes, including the target's lease.
func lockKeys(t *testing.T, nodes []*engines.Member) []string {
	t.Helper()
	var keys []string
	for _, m := range nodes {
		keys = append(keys, m.Client(t).Keys(t.Context(), "rlfunc:{deploy*}:l[eo]*").Val()...)
	}
	return keys
}

func TestCluster_locksEveryPrimaryAndSharesRecords(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 1)
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	client := c.Client(t)
	target := loader.NewTarget(client)
	deployTo(t, target, "anna", v10)

	var during []string
	var refused error
	last := c.Primaries[2].Addr
	hooked := clusterOf(t, c.Addrs(), "", func(addr string) redis.Hook {
		if addr != last {
			return nil
		}
		return &between{words: atExec, run: func() {
			during = lockKeys(t, c.Primaries)
			_, refused = target.Apply(t.Context(), planOf(t, target, bundle("other", "1.0.0", "look")), as("bert"))
		}}
	})
	deployTo(t, loader.NewTarget(hooked), "anna", v11)
	equal(t, "locks while it runs", 4, len(during))
	says(t, refused, loader.ErrLocked, "anna has held the lock")
	equal(t, "locks afterwards", []string(nil), lockKeys(t, c.Primaries))

	// Rollback, and back up; retire while a client is seen, and by force.
	p, err := target.PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "plan", actionsOf(c, "downgrade", "follow"), actions(p))
	r, err := target.Apply(t.Context(), p, as("nora"))
	equal(t, "error", nil, err)
	equal(t, "outcomes", outcomesOf(c, "downgraded", "followed"), byNode(r))
	for _, addr := range c.Addrs() {
		equal(t, "code on "+addr, v10.Code, held(t, impatient(t, addr), "shop_v1"))
	}
	announce(t, client, v10, "pod-a")
	gone, err := target.PlanRetire(t.Context(), "shop_v1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = target.Apply(t.Context(), gone, loader.ApplyOptions{})
	says(t, err, loader.ErrInUse, "1 client of it was seen")
	r, err = target.Apply(t.Context(), gone, loader.ApplyOptions{Force: true, Lock: loader.LockOptions{By: "nora"}})
	equal(t, "error of the retire", nil, err)
	equal(t, "outcomes of the retire", outcomesOf(c, "deleted", "followed"), byNode(r))
	var last3 []string
	for _, line := range story(t, client)[1:] {
		last3 = append(last3, strings.SplitN(line, ":", 2)[0])
	}
	equal(t, "history", []string{"deploy by anna done", "rollback by nora done", "retire by nora done"}, last3)
}

func TestCluster_deployersNeverInterleave(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	older := bundle("shop", "1.0.0", "buy")
	deployTo(t, loader.NewTarget(c.Client(t)), "anna", older)
	// Each deploys a version of its own, planned on what all of them have seen.
	var targets []*loader.Target
	var plans []*loader.Plan
	for i := range 20 {
		target := loader.NewTarget(c.Client(t))
		targets = append(targets, target)
		plans = append(plans, planOf(t, target, bundle("shop", fmt.Sprintf("1.1.%d", i%5), "buy")))
	}
	results, errs := inParallel(func(i int) (*loader.Result, error) {
		return targets[i].Apply(t.Context(), plans[i], loader.ApplyOptions{Lock: patient})
	})
	winners := map[string]int{}
	for i, err := range errs {
		switch {
		case err == nil && results[i].Changed() > 0:
			winners[plans[i].Libraries[0].Version] += results[i].Changed()
		case err != nil && !isReason(err, loader.ErrChanged):
			t.Errorf("deployer %d: %v", i, err)
		}
	}
	// One version won on all three nodes. The other plans are stale.
	if len(winners) != 1 {
		t.Errorf("nodes loaded by version: %v", winners)
	}
	for version, n := range winners {
		equal(t, "nodes", 3, n)
		for _, m := range c.Primaries {
			equal(t, "code on "+m.Addr, bundle("shop", version, "buy").Code, held(t, m.Client(t), "shop_v1"))
		}
	}
}

// deployerEnv makes this test binary a deployer. It holds the addresses of a cluster, and the one at which the deployer stops.
const deployerEnv = "RLFUNC_TEST_DEPLOYER"

// TestDeployer_process is the deployer process of other tests, which kill it.
func TestDeployer_process(t *testing.T) {
	addrs := strings.Fields(os.Getenv(deployerEnv))
	if len(addrs) == 0 {
		t.Skip("SKIPPED: this is the process that another test starts and kills")
	}
	stuckAt := addrs[0]
	client := clusterOf(t, addrs, "", func(addr string) redis.Hook {
		if addr != stuckAt {
			return nil
		}
		return &between{words: atExec, run: func() { fmt.Println("stuck"); select {} }}
	})
	target := loader.NewTarget(client)
	_, err := target.Apply(context.Background(), planOf(t, target, bundle("shop", "1.1.0", "buy")), as("the deployer that dies"))
	t.Errorf("the deploy has ended: %v", err)
}

func TestCluster_nextDeployerFinishesAfterKill(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	older, lib := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	target := loader.NewTarget(c.Client(t))
	deployTo(t, target, "anna", older)

	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeployer_process$")
	process.Env = append(os.Environ(), deployerEnv+"="+strings.Join(c.Addrs(), " "))
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := false
	for lines := bufio.NewScanner(out); !stuck && lines.Scan(); {
		stuck = lines.Text() == "stuck"
	}
	code := func() (all []string) {
		for _, addr := range c.Addrs() {
			all = append(all, held(t, impatient(t, addr), "shop_v1"))
		}
		return all
	}
	half := []string{older.Code, lib.Code, lib.Code}
	for end := time.Now().Add(20 * time.Second); stuck && strings.Join(code(), "") != strings.Join(half, ""); {
		if time.Now().After(end) {
			t.Fatal("the other nodes were not loaded")
		}
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	if !stuck {
		t.Fatal("the deployer did not get to the load")
	}

	// Its locks are still there, and say so; its beginning is in the history.
	p := planOf(t, target, lib)
	_, err = target.Apply(t.Context(), p, as("bert"))
	says(t, err, loader.ErrLocked, "the deployer that dies has held the lock since", "it expires at")
	begun := history(t, c.Client(t))[0]
	equal(t, "event", []any{"the deployer that dies", loader.Unfinished, 3}, []any{begun.By, begun.Outcome, begun.Changes[0].Count})
	equal(t, "locks", 4, len(lockKeys(t, c.Primaries)))

	// They expire; the test does not wait for that. The next one finishes the job, and can be rolled back to where it all began.
	for _, m := range c.Primaries {
		for _, key := range lockKeys(t, []*engines.Member{m}) {
			if ttl := m.Client(t).PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 30*time.Second {
				t.Errorf("lock %s expires in %s", key, ttl)
			}
			m.Client(t).PExpire(t.Context(), key, time.Millisecond)
		}
	}
	r, err := target.Apply(t.Context(), p, loader.ApplyOptions{Lock: loader.LockOptions{By: "bert", Wait: 10 * time.Second}})
	equal(t, "error", nil, err)
	want := outcomesOf(c, "same", "")
	want[c.Addrs()[0]] = []string{"upgraded"}
	equal(t, "outcomes", want, byNode(r))
	equal(t, "code", []string{lib.Code, lib.Code, lib.Code}, code())
	back, err := target.PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rollback", "downgrade 1.1.0 -> 1.0.0", back.Nodes[0].Steps[0].String())
}

func TestCluster_cancelledDeployReleasesLocks(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	lib, second := bundle("shop", "1.0.0", "buy"), bundle("other", "1.0.0", "look")
	ctx, cancel := context.WithCancel(t.Context())
	stopAt := c.Addrs()[1]
	client := clusterOf(t, c.Addrs(), "", func(addr string) redis.Hook {
		if addr != stopAt {
			return nil
		}
		return &between{words: atLock, run: cancel}
	})
	target := loader.NewTarget(client)
	r, err := target.Apply(ctx, planOf(t, target, lib, second), as("anna"))
	says(t, err, loader.ErrInterrupted, "run it again to finish")
	equal(t, "outcomes", []string{"loaded", "not_started interrupted"}, byNode(r)[stopAt])
	equal(t, "locks", []string(nil), lockKeys(t, c.Primaries))
	equal(t, "outcome in the history", loader.Partly, history(t, c.Client(t))[0].Outcome)
	deployTo(t, loader.NewTarget(c.Client(t)), "anna", lib)
	deployTo(t, loader.NewTarget(c.Client(t)), "anna", second)
	for _, addr := range c.Addrs() {
		equal(t, "code on "+addr, lib.Code, held(t, impatient(t, addr), "shop_v1"))
	}
}

func TestCluster_reportsNodesAfterLostPermission(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 0)
	older, lib := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	admin := c.Client(t)
	deployTo(t, loader.NewTarget(admin), "anna", older)
	rules := func(addr string, rules ...any) {
		if err := impatient(t, addr).Do(t.Context(), append([]any{"ACL", "SETUSER", "deployer"}, rules...)...).Err(); err != nil {
			t.Error(err)
		}
	}
	for _, addr := range c.Addrs() {
		rules(addr, "reset", "on", ">secret", "+function|list", "+function|load", "+cluster|nodes", "+cluster|slots", "+cluster|shards", "+info")
		rules(addr, deployRules()...)
	}
	refused := c.Addrs()[1]
	client := clusterOf(t, c.Addrs(), "deployer", func(addr string) redis.Hook {
		if addr != refused {
			return nil
		}
		return &between{words: atQueue, run: func() { rules(addr, "-function|load") }}
	})
	target := loader.NewTarget(client)
	r, err := target.Apply(t.Context(), planOf(t, target, lib), as("dora"))
	says(t, err, loader.ErrNoPermission, "load shop_v1 on "+refused+": NOPERM", "function|load")
	want := outcomesOf(c, "upgraded", "")
	want[refused] = []string{"failed no_permission"}
	equal(t, "outcomes", want, byNode(r))
	event := history(t, admin)[0]
	equal(t, "event", []any{loader.Partly, "dora"}, []any{event.Outcome, event.By})
	for _, change := range event.Changes {
		if (change.Nodes[0] == refused) != (change.Problem != "") {
			t.Errorf("the history has %+v", change)
		}
	}
	// A deploy that leaves the node out on purpose says so in the history too.
	again := bundle("shop", "1.2.0", "buy")
	_, err = target.Apply(t.Context(), planOf(t, target, again), loader.ApplyOptions{Partial: true})
	says(t, err, loader.ErrNoPermission, "load shop_v1 on "+refused)
	event = history(t, admin)[0]
	equal(t, "outcome", loader.Partly, event.Outcome)
	left := event.Changes[len(event.Changes)-1]
	equal(t, "the node that was left out", []any{refused, loader.NotStarted, "1.0.0", true}, []any{left.Nodes[0], left.Outcome, left.From, left.Problem != ""})
	lib = again
	// With the permission back the same plan finishes the job.
	rules(refused, "+function|load")
	deployTo(t, loader.NewTarget(clusterOf(t, c.Addrs(), "deployer", none)), "dora", lib)
	for _, addr := range c.Addrs() {
		equal(t, "code on "+addr, lib.Code, held(t, impatient(t, addr), "shop_v1"))
	}
}

func TestRing_isLockedAndRecorded(t *testing.T) {
	t.Parallel()
	a, b := engines.OnPath(t).Start(t), engines.OnPath(t).Start(t)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": a.Addr, "b": b.Addr}})
	defer ring.Close()
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	target := loader.NewTarget(ring)
	deployTo(t, target, "anna", v10)
	deployTo(t, target, "anna", v11)
	p, err := target.PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Apply(t.Context(), p, as("anna")); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*engines.Member{a, b} {
		equal(t, "code on "+m.Addr, v10.Code, held(t, m.Client(t), "shop_v1"))
	}
	equal(t, "locks", []string(nil), lockKeys(t, []*engines.Member{a, b}))
	equal(t, "events", 3, len(history(t, ring)))

	// A sign of life is on the shard of its key, where a retire looks for it.
	announce(t, ring, v10, "pod-a")
	retire, err := target.PlanRetire(t.Context(), "shop_v1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = target.Apply(t.Context(), retire, loader.ApplyOptions{})
	says(t, err, loader.ErrInUse, "pod-a")
}

func deployTo(t *testing.T, target *loader.Target, by string, lib *fcall.Library) {
	t.Helper()
	if _, err := target.Apply(t.Context(), planOf(t, target, lib), as(by)); err != nil {
		t.Fatal(err)
	}
}
