package typescript_test

import (
	"net"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// onACluster runs the clients over node-redis' createCluster: redirects, missing libraries and lost replies.
func onACluster(t *testing.T, dir string, env []string) {
	program := engines.OnPath(t)
	cluster := program.StartCluster(t, 2, 0)
	// Clients of the second cluster meet its only node through a proxy that loses replies.
	alone := program.StartCluster(t, 1, 0)
	proxy := clienttest.Proxy(t, alone.Primaries[0].Addr)
	_, port, _ := net.SplitHostPort(proxy)
	if err := alone.Primaries[0].Client(t).ConfigSet(t.Context(), "cluster-announce-port", port).Err(); err != nil {
		t.Fatal(err)
	}
	env = append(env,
		"PRIMARY0="+cluster.Primaries[0].Addr, "PRIMARY1="+cluster.Primaries[1].Addr, "PROXY="+proxy, "BEHIND="+alone.Primaries[0].Addr,
		"REDIS_NODES="+cluster.Primaries[0].Addr,
	)
	if out := clienttest.Run(t, dir, env, onpath.Program(t, "node"), "page2.js"); out != "true 9\n" {
		t.Errorf("the page's block printed %q", out)
	}
	clienttest.Run(t, dir, env, onpath.Program(t, "node"), "--test", "cluster.js")
}
