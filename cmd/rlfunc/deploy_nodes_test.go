package main

import (
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
)

// The library is loaded although a replica cannot be read, and only the exit code and a message say so.
func TestDeploy_replicaThatDoesNotConfirm(t *testing.T) {
	primary := engines.OnPath(t).Start(t)
	replica := primary.StartReplica(t, "--replica-read-only", "no")
	// The replica announces a port where nothing listens.
	must(t, replica.Client(t).ConfigSet(t.Context(), "replica-announce-port", "1").Err())
	must(t, primary.Client(t).ClientKillByFilter(t.Context(), "TYPE", "replica").Err())
	primary.AwaitInfo(t, "connected_slaves:1")
	at := "ratelimit --redis redis://" + primary.Addr
	ran(t, exitFindings, "deploy "+at, "ratelimit_v1  loaded", "this replica of "+primary.Addr+" cannot be read", "give --no-replicas to ignore it")
	ran(t, exitOK, "deploy --no-replicas "+at, "ratelimit_v1  same")
}

// Without an address of the node that has them, the records cannot be read: commands say so, and what to set.
func TestCluster_nodesWithoutEndpoint(t *testing.T) {
	c := engines.OnPath(t).StartCluster(t, 1, 0, "--cluster-preferred-endpoint-type", "unknown-endpoint")
	at := " --redis redis+cluster://" + c.Primaries[0].Addr
	const advice = "set cluster-preferred-endpoint-type ip"
	change := " --reason x --yes --policy " + shopPolicy + at
	for _, said := range []string{
		ran(t, exitFindings, "plan ratelimit"+at, advice), ran(t, exitError, "deploy ratelimit"+at, advice), ran(t, exitError, "history"+at, advice),
		ran(t, exitError, "block 203.0.113.7 --for 1h"+change, "cluster-preferred-endpoint-type"), ran(t, exitError, "reset 203.0.113.7"+change, "cluster-preferred-endpoint-type"),
		ran(t, exitError, "override clear 203.0.113.7"+change, "cluster-preferred-endpoint-type"), ran(t, exitError, "top --once --namespace shop"+at, "cluster-preferred-endpoint-type"),
		ran(t, exitError, "inspect 203.0.113.7 --policy "+shopPolicy+at, "cluster-preferred-endpoint-type"),
	} {
		if strings.Contains(said, "redis: nil") {
			t.Errorf("it says %q", said)
		}
	}
}

func TestPlan_unreachableServerIsOneRow(t *testing.T) {
	said := ran(t, exitError, "plan --redis redis://127.0.0.1:1", "all 7", "no connection: ")
	if rows := strings.Count(said, "\n127.0.0.1:1 "); rows != 1 {
		t.Errorf("%d rows:\n%s", rows, said)
	}
}
