package engines

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// slotCount is how many hash slots a cluster has.
const slotCount = 16384

// A Cluster is a cluster of servers.
type Cluster struct {
	Primaries []*Member
	Replicas  []*Member // the first ones are of the first primary, and so on

	args []string
}

// StartCluster starts a cluster and waits until all of its nodes agree and its replicas have taken over the data. It ends with the test.
func (p Program) StartCluster(t testing.TB, primaries, replicasEach int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{args: args}
	members := make([]*Member, primaries*(1+replicasEach))
	var wg sync.WaitGroup
	for i := range members {
		wg.Go(func() { members[i] = c.startNode(t, p) })
	}
	wg.Wait()
	if slices.Contains(members, nil) {
		t.FailNow()
	}
	c.Primaries, c.Replicas = members[:primaries:primaries], members[primaries:]
	for i, m := range c.Primaries {
		m.run(t, "CLUSTER", "ADDSLOTSRANGE", slotCount*i/primaries, slotCount*(i+1)/primaries-1)
	}
	for i, m := range members {
		m.run(t, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i > 0 {
			members[0].meet(t, m)
		}
	}
	for i, m := range c.Replicas {
		m.replicate(t, c.Primaries[i/replicasEach])
	}
	c.Await(t)
	return c
}

// startNode starts a server that is in no cluster yet.
func (c *Cluster) startNode(t testing.TB, p Program) *Member {
	t.Helper()
	return p.start(t, func(port int) []string {
		bus, err := freePort()
		if err != nil {
			t.Fatalf("engines: %v", err)
		}
		return p.flags(port, append([]string{
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", strconv.Itoa(bus),
			"--cluster-node-timeout", "4000", "--repl-ping-replica-period", "1",
		}, c.args...))
	})
}

// Join adds a primary that owns no slots, of the cluster's program or another one.
func (c *Cluster) Join(t testing.TB, p Program) *Member {
	t.Helper()
	m := c.startNode(t, p)
	c.Primaries[0].meet(t, m)
	c.Primaries = append(c.Primaries, m)
	c.Await(t)
	return m
}

// Await waits until every member that answers has the same view: no node is joining or failing, and every replica has caught up.
func (c *Cluster) Await(t testing.TB) {
	t.Helper()
	for _, m := range slices.Concat(c.Primaries, c.Replicas) {
		m.await(t, func(ctx context.Context, client *redis.Client) error {
			info, err := client.ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			if !strings.Contains(info, "cluster_state:ok") {
				return fmt.Errorf("the cluster is down")
			}
			text, err := client.ClusterNodes(ctx).Result()
			if err != nil {
				return err
			}
			nodes, replicas := strings.Count(text, "\n"), strings.Count(text, "slave")
			if nodes != len(c.Primaries)+len(c.Replicas) || replicas != len(c.Replicas) || strings.Contains(text, "handshake") || strings.Contains(text, "fail") {
				return fmt.Errorf("the nodes are:\n%s", text)
			}
			return nil
		})
	}
	for _, m := range c.Replicas {
		m.AwaitInfo(t, "master_link_status:up")
	}
}

var currentEpoch = regexp.MustCompile(`cluster_current_epoch:\d+`)

// AwaitEpoch waits until all members are in the same epoch: a replica that is asked to take over in an older one gets no votes.
func (c *Cluster) AwaitEpoch(t testing.TB) {
	t.Helper()
	members := slices.Concat(c.Primaries, c.Replicas)
	members[0].await(t, func(ctx context.Context, client *redis.Client) error {
		first, err := client.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		for _, m := range members[1:] {
			info, err := m.Client(t).ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			if a, b := currentEpoch.FindString(first), currentEpoch.FindString(info); a != b {
				return fmt.Errorf("%s is in %s, %s in %s", members[0].Addr, a, m.Addr, b)
			}
		}
		return nil
	})
}

// Addrs are the addresses of all members, primaries first.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, m := range slices.Concat(c.Primaries, c.Replicas) {
		all = append(all, m.Addr)
	}
	return all
}

// Client returns a client of the cluster, which does not try again.
func (c *Cluster) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	o := c.Primaries[0].clientOptions()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		MaxRedirects: 3, DialTimeout: o.DialTimeout, DialerRetries: 1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { client.Close() })
	return client
}

func (m *Member) run(t testing.TB, args ...any) {
	t.Helper()
	if err := m.Client(t).Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("engines: %v on %s: %v", args, m.Addr, err)
	}
}

func (m *Member) meet(t testing.TB, other *Member) {
	t.Helper()
	host, port, _ := net.SplitHostPort(other.Addr)
	m.run(t, "CLUSTER", "MEET", host, port, other.args[slices.Index(other.args, "--cluster-port")+1])
}

// replicate makes it a replica, once it has heard of the primary.
func (m *Member) replicate(t testing.TB, primary *Member) {
	t.Helper()
	id := primary.ClusterID(t)
	m.await(t, func(ctx context.Context, c *redis.Client) error { return c.ClusterReplicate(ctx, id).Err() })
}

// ClusterID is the name of the server in its cluster.
func (m *Member) ClusterID(t testing.TB) string {
	t.Helper()
	id, err := m.Client(t).ClusterMyID(t.Context()).Result()
	if err != nil {
		t.Fatalf("engines: %s: %v", m.Addr, err)
	}
	return id
}

// A Move takes slots from one primary of a cluster to another one, as operators' tools do: SETSLOT on both sides, MIGRATE of each
// key, and SETSLOT again.
type Move struct {
	t              testing.TB
	source, target *redis.Client
	fromID, toID   string
}

// NewMove returns a move, of nothing yet.
func NewMove(t testing.TB, from, to *Member) *Move {
	t.Helper()
	return &Move{t: t, source: from.Client(t), target: to.Client(t), fromID: from.ClusterID(t), toID: to.ClusterID(t)}
}

// All moves the slots in which the primary has keys, and says how many those are.
func (m *Move) All() int {
	m.t.Helper()
	shards, err := m.source.ClusterShards(m.t.Context()).Result()
	if err != nil {
		m.t.Fatalf("engines: %v", err)
	}
	moved := 0
	for _, s := range shards {
		if !slices.ContainsFunc(s.Nodes, func(n redis.Node) bool { return n.ID == m.fromID }) {
			continue
		}
		for _, r := range s.Slots {
			for slot := int(r.Start); slot <= int(r.End); slot++ {
				if m.source.ClusterCountKeysInSlot(m.t.Context(), slot).Val() > 0 {
					m.Slot(slot, nil)
					moved++
				}
			}
		}
	}
	return moved
}

// Slot moves one. Meanwhile, unless nil, is called when the slot is on the move and no key has gone yet.
func (m *Move) Slot(slot int, meanwhile func()) {
	m.t.Helper()
	m.run(m.target, "CLUSTER", "SETSLOT", slot, "IMPORTING", m.fromID)
	m.run(m.source, "CLUSTER", "SETSLOT", slot, "MIGRATING", m.toID)
	if meanwhile != nil {
		meanwhile()
	}
	host, port, _ := net.SplitHostPort(m.target.Options().Addr)
	for {
		keys, err := m.source.ClusterGetKeysInSlot(m.t.Context(), slot, 1).Result()
		if err != nil {
			m.t.Fatalf("engines: keys of slot %d: %v", slot, err)
		}
		if len(keys) == 0 {
			break
		}
		m.run(m.source, "MIGRATE", host, port, keys[0], 0, 5000)
	}
	m.run(m.target, "CLUSTER", "SETSLOT", slot, "NODE", m.toID)
	m.run(m.source, "CLUSTER", "SETSLOT", slot, "NODE", m.toID)
}

func (m *Move) run(c *redis.Client, args ...any) {
	m.t.Helper()
	if err := c.Do(m.t.Context(), args...).Err(); err != nil {
		m.t.Fatalf("engines: %v on %s: %v", args, c.Options().Addr, err)
	}
}
