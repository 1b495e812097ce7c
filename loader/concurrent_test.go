package loader_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
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

func TestCluster_rollsBackAndRetiresOnEveryPrimary(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 3, 1)
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	client := c.Client(t)
	target := loader.NewTarget(client)
	deployTo(t, target, "anna", v10)
	deployTo(t, target, "anna", v11)
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
	equal(t, "outcomes of a retire", outcomesOf(c, "deleted", "followed"), byNode(retire(t, client, "shop_v1")))
	var all []string
	for _, line := range story(t, client) {
		all = append(all, strings.SplitN(line, ":", 2)[0])
	}
	equal(t, "history", []string{"deploy by anna done", "deploy by anna done", "rollback by nora done"}, all[:3])
}

// What another tool loads after the plan, and before the last look or where nothing was, is not overwritten.
func TestApply_keepsLoadOfAnotherTool(t *testing.T) {
	older, lib := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	foreign := &fcall.Library{ServerName: "shop_v1", Code: "#!lua name=shop_v1\nredis.register_function('shop_v1_buy', function() return 1 end)"}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, tt := range map[string]struct {
			moment []string
			before *fcall.Library
		}{"before it looks again": {atVisit, older}, "where nothing was": {atVisit, nil}, "at the last moment where nothing was": {atLoad, nil}} {
			t.Run(name, func(t *testing.T) {
				client := e.Client(t)
				if tt.before != nil {
					put(t, client, tt.before.Code)
				}
				slow := e.Connect(t, nil)
				slow.AddHook(&between{words: tt.moment, run: func() { put(t, client, foreign.Code) }})
				_, err := apply(slow, plan(t, client, lib), loader.ApplyOptions{})
				says(t, err, loader.ErrChanged, "deploy shop_v1 on "+e.Addr+": another tool changed it meanwhile", "plan again")
				equal(t, "code", foreign.Code, held(t, client, "shop_v1"))
			})
		}
	})
}

// A saved plan is not applied where its release was rolled back since, although the nodes hold what they held.
func TestApply_rejectsPlanBeforeARollback(t *testing.T) {
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	onEngines(t, func(t *testing.T, _ engines.Engine, client *redis.Client) {
		deploy(t, client, "anna", v10)
		saved, err := loader.ReadPlan(encode(t, plan(t, client, v11)), v11)
		if err != nil {
			t.Fatal(err)
		}
		deploy(t, client, "anna", v11)
		rollback(t, client, loader.RollbackOptions{})
		_, err = apply(client, saved, loader.ApplyOptions{})
		says(t, err, loader.ErrChanged, "the rollback to 1.0.0 by nora, which began at ", "came after the plan of shop_v1; nothing was changed; plan again")
	})
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
		return &between{words: atLoad, run: func() { fmt.Println("stuck"); select {} }}
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
	must(t, process.Start())
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
	must(t, process.Process.Kill())
	_ = process.Wait()
	if !stuck {
		t.Fatal("the deployer did not get to the load")
	}

	// The history and the status have its beginning, and do not take its load for that of another tool.
	begun := history(t, c.Client(t))[0]
	equal(t, "event", []any{"the deployer that dies", loader.Unfinished, 3}, []any{begun.By, begun.Outcome, begun.Changes[0].Count})
	if found := findings(t, target); !slices.Contains(found, "unfinished") {
		t.Errorf("status finds %v", found)
	}
	releases, err := target.Releases(t.Context())
	equal(t, "error and who loaded 1.1.0", []any{nil, "the deployer that dies"}, []any{err, releases[0].By})

	// The next one finishes the job, and can be rolled back to where it all began.
	r, err := target.Apply(t.Context(), planOf(t, target, lib), as("bert"))
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
		return &between{words: atLoad, run: func() { rules(addr, "-function|load") }}
	})
	target := loader.NewTarget(client)
	r, err := target.Apply(t.Context(), planOf(t, target, lib), as("dora"))
	says(t, err, loader.ErrNoPermission, "deploy shop_v1 on "+refused+": NOPERM", "function|load")
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
	says(t, err, loader.ErrNoPermission, "deploy shop_v1 on "+refused)
	event = history(t, admin)[0]
	equal(t, "outcome", loader.Partly, event.Outcome)
	left := event.Changes[0]
	equal(t, "the node that was left out", []any{refused, "skipped", "1.0.0", true}, []any{left.Nodes[0], left.Result, left.From, left.Problem != ""})
	lib = again
	// With the permission back the same plan finishes the job.
	rules(refused, "+function|load")
	deployTo(t, loader.NewTarget(clusterOf(t, c.Addrs(), "deployer", none)), "dora", lib)
	for _, addr := range c.Addrs() {
		equal(t, "code on "+addr, lib.Code, held(t, impatient(t, addr), "shop_v1"))
	}
}

func deployTo(t *testing.T, target *loader.Target, by string, lib *fcall.Library) {
	t.Helper()
	if _, err := target.Apply(t.Context(), planOf(t, target, lib), as(by)); err != nil {
		t.Fatal(err)
	}
}
