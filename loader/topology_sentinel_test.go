package loader_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestSentinel_deployAcrossFailover(t *testing.T) {
	t.Parallel()
	s := engines.OnPath(t).StartSentinels(t, 2)
	old := s.Servers[0]
	target := open(t, "redis+sentinel://main@"+strings.Join(s.Addrs(), ","))
	lib := bundle("shop", "1.0.0", "buy")

	r, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{})
	equal(t, "error", nil, err)
	equal(t, "outcomes", map[string][]string{
		old.Addr: {"loaded"}, s.Servers[1].Addr: {"followed"}, s.Servers[2].Addr: {"followed"},
	}, byNode(r))

	failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: s.Addrs()})
	defer failover.Close()
	nodes, err := loader.NewTarget(failover).Nodes(t.Context())
	equal(t, "error", nil, err)
	wantNodes, err := target.Nodes(t.Context())
	equal(t, "error", nil, err)
	equal(t, "nodes of a failover client", wantNodes, nodes)
	readers := redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: s.Addrs(), RouteRandomly: true})
	defer readers.Close()
	_, err = loader.NewTarget(readers).Nodes(t.Context())
	says(t, err, loader.ErrUnsupported, "pass one of NewFailoverClient")

	stale := planOf(t, target, bundle("shop", "1.1.0", "buy"))
	old.Kill()
	now := s.AwaitFailover(t, old)
	v := planOf(t, target, lib)
	equal(t, "nodes", 3, len(v.Nodes))
	for _, n := range v.Nodes {
		switch n.Addr {
		case old.Addr:
			equal(t, "the old primary", []string{"replica_unread"}, codes(n.Warnings))
		case now.Addr:
			equal(t, "the new primary", []any{"", loader.Same}, []any{n.Follows, n.Steps[0].State})
		default:
			equal(t, "the other replica", []any{now.Addr, loader.Same}, []any{n.Follows, n.Steps[0].State})
		}
	}
	equal(t, "same", false, v.Same())

	_, err = target.Apply(t.Context(), stale, loader.ApplyOptions{})
	says(t, err, loader.ErrChanged, now.Addr+" was no primary of this target when the plan was made")

	// A dead replica does not block a deploy, which says that it is not confirmed.
	upgrade := bundle("shop", "1.1.0", "buy")
	p := planOf(t, target, upgrade)
	r, err = target.Apply(t.Context(), p, loader.ApplyOptions{})
	says(t, err, loader.ErrReplication, "this replica of "+now.Addr+" cannot be read", "--no-replicas")
	equal(t, "outcomes", []any{"upgraded", "failed replication", true}, []any{byNode(r)[now.Addr][0], byNode(r)[old.Addr][0], r.Unconfirmed()})

	// It comes back as a replica, and takes over what it has missed.
	old.Restart(t)
	old.AwaitInfo(t, "role:slave", "master_link_status:up")
	equal(t, "everything is the same", true, planOf(t, target, upgrade).Same())
}

// After a failover, the new primary has the records of deploys: a rollback restores the earlier release, and a retire removes unused
// libraries. Servers and sentinels use TLS.
func TestSentinel_rollbackAndRetireAfterAFailoverOverTLS(t *testing.T) {
	t.Parallel()
	certificates := engines.NewCertificates(t)
	s := engines.OnPath(t).TLS(t, certificates).StartSentinels(t, 2)
	old := s.Servers[0]
	url := "rediss+sentinel://main@" + strings.Join(s.Addrs(), ",")
	target := open(t, url+certificates.Query())
	v10, v11 := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	deployTo(t, target, "anna", v10)
	deployTo(t, target, "anna", v11)
	old.AwaitReplicas(t, 2)
	old.Kill()
	now := s.AwaitFailover(t, old)

	p, err := target.PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
	equal(t, "error", nil, err)
	equal(t, "the node of the rollback", now.Addr, p.Nodes[0].Addr)
	_, err = target.Apply(t.Context(), p, as("nora"))
	says(t, err, loader.ErrReplication, "verify shop_v1 on "+old.Addr)
	equal(t, "code", v10.Code, held(t, now.Client(t), "shop_v1"))

	address, err := loader.ParseURL(url + certificates.Query())
	equal(t, "error", nil, err)
	client := address.NewClient()
	defer client.Close()
	equal(t, "history", []string{
		"deploy by anna done: shop_v1 >1.0.0 loaded",
		"deploy by anna done: shop_v1 1.0.0>1.1.0 upgraded",
		"rollback by nora partly: shop_v1 >1.0.0 failed, shop_v1 1.1.0>1.0.0 downgraded",
	}, story(t, client))

	retire, err := target.PlanRetire(t.Context(), "shop_v1")
	equal(t, "error", nil, err)
	_, err = target.Apply(t.Context(), retire, loader.ApplyOptions{})
	says(t, err, loader.ErrReplication, "this replica of "+now.Addr+" cannot be read")
	equal(t, "code", "", held(t, now.Client(t), "shop_v1"))

	_, err = open(t, strings.Replace(url, "rediss", "redis", 1)).Plan(t.Context(), v10)
	says(t, err, loader.ErrUnreachable, "find the nodes: ")
}

func TestSentinel_reportsUnknownPrimary(t *testing.T) {
	t.Parallel()
	s := engines.OnPath(t).StartSentinels(t, 0)
	lib := bundle("shop", "1.0.0", "buy")
	for name, tt := range map[string]struct {
		url    string
		reason loader.Reason
		part   string
	}{
		"an unknown name": {"redis+sentinel://mian@" + s.Addrs()[0], loader.ErrUnsupported, `it knows no primary of that name: "mian"`},
		"not a sentinel":  {"redis+sentinel://main@" + s.Servers[0].Addr, loader.ErrUnsupported, "it is not a sentinel"},
		"no server":       {"redis+sentinel://main@127.0.0.1:1", loader.ErrUnreachable, "127.0.0.1:1: no connection"},
	} {
		_, err := open(t, tt.url).Plan(t.Context(), lib)
		t.Log(name)
		says(t, err, tt.reason, "find the nodes: ", tt.part)
	}

	// Two of three sentinels are enough, and the other one is named; one of two is not.
	p := planOf(t, open(t, "redis+sentinel://main@127.0.0.1:1,"+s.Addrs()[1]+","+s.Addrs()[2]), lib)
	equal(t, "nodes", []any{s.Servers[0].Addr, 1}, []any{p.Nodes[0].Addr, len(p.Nodes)})
	equal(t, "warnings", []string{"sentinels_differ"}, codes(p.Warnings))
}

// fields is how a sentinel describes the server at addr.
func fields(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	return "*4\r\n" + bulk("ip") + bulk(host) + bulk("port") + bulk(port)
}

// newFakeSentinel returns a sentinel that reports the primary at addr.
func newFakeSentinel(t *testing.T, addr string) *fakeServer {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return newFakeServer(t, func(command string, args []string) string {
		switch {
		case command == "SENTINEL" && strings.EqualFold(args[1], "GET-MASTER-ADDR-BY-NAME"):
			return "*2\r\n" + bulk(host) + bulk(port)
		case command == "SENTINEL" && strings.EqualFold(args[1], "MASTER"):
			return fields(addr)
		case command == "SENTINEL":
			return "*0\r\n"
		}
		return "-ERR unknown command\r\n"
	})
}

// Whenever a failover ends between two questions to a sentinel, no server is missing.
func TestSentinel_failoverEndsBetweenQuestions(t *testing.T) {
	const old, promoted, other = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
	for before := range 4 {
		var asked atomic.Int64
		s := newFakeServer(t, func(command string, args []string) string {
			if command != "SENTINEL" {
				return "-ERR unknown command\r\n"
			}
			ended := asked.Add(1) > int64(before)
			switch {
			case strings.EqualFold(args[1], "GET-MASTER-ADDR-BY-NAME"):
				return "*2\r\n" + bulk("127.0.0.1") + bulk("2") // the promoted one, from before the end
			case strings.EqualFold(args[1], "MASTER") && ended:
				return fields(promoted)
			case strings.EqualFold(args[1], "MASTER"):
				return fields(old)
			case ended:
				return "*2\r\n" + fields(old) + fields(other)
			}
			return "*2\r\n" + fields(promoted) + fields(other)
		})
		nodes, err := open(t, "redis+sentinel://main@"+s.addr).Nodes(t.Context())
		equal(t, "error", nil, err)
		equal(t, "nodes", []loader.Node{
			{Addr: promoted, Role: loader.Primary},
			{Addr: old, Role: loader.Replica, Follows: promoted},
			{Addr: other, Role: loader.Replica, Follows: promoted},
		}, nodes)
	}
}

// The loader does not trust an isolated or lying sentinel, neither for the target of a deploy nor for the place of its records.
func TestSentinel_followsMajority(t *testing.T) {
	_, slots := primaries(t, 2)
	right, wrong := slots[0].Nodes[0].Addr, slots[1].Nodes[0].Addr
	liar := newFakeSentinel(t, wrong).addr
	url := "redis+sentinel://main@" + liar
	lib := bundle("shop", "1.0.0", "buy")

	for name, others := range map[string]string{"two are silent": ",127.0.0.1:1,127.0.0.1:2", "the other one is silent": ",127.0.0.1:1", "the other one differs": "," + newFakeSentinel(t, right).addr} {
		_, err := open(t, url+others).Plan(t.Context(), lib)
		t.Log(name)
		says(t, err, loader.ErrUnreachable, "no majority of the", liar+": it names "+wrong)
	}
	target := open(t, url+","+newFakeSentinel(t, right).addr+","+newFakeSentinel(t, right).addr)
	p := planOf(t, target, lib)
	equal(t, "node and warnings", []any{right, []string{"sentinels_differ"}}, []any{p.Nodes[0].Addr, codes(p.Warnings)})
	if _, err := target.Apply(t.Context(), p, loader.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	keys := func(addr string) int64 { return impatient(t, addr).DBSize(t.Context()).Val() }
	equal(t, "keys there and elsewhere", []int64{5, 0}, []int64{keys(right), keys(wrong)})
	events, err := target.History(t.Context(), 1)
	equal(t, "history", []any{nil, 1}, []any{err, len(events)})
}

func open(t *testing.T, url string) *loader.Target {
	t.Helper()
	address, err := loader.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	target := address.Open()
	t.Cleanup(func() { target.Close() })
	return target
}

func codes(warnings []loader.Warning) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.ID)
	}
	return all
}
