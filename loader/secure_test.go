package loader_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestTLS_clusterWithOwnAuthorityAndUser(t *testing.T) {
	t.Parallel()
	certificates := engines.NewCertificates(t)
	c := engines.OnPath(t).TLS(t, certificates).StartCluster(t, 2, 1)
	for _, m := range append(c.Primaries, c.Replicas...) {
		rules := append([]any{"ACL", "SETUSER", "deployer", "on", ">p@ss/word", "+function|list", "+function|load", "+cluster|nodes", "+cluster|slots"}, deployRules()...)
		err := m.Client(t).Do(t.Context(), rules...).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	lib := bundle("shop", "1.0.0", "buy")
	url := "rediss+cluster://deployer:p%40ss%2Fword@" + c.Primaries[0].Addr
	target := open(t, url+certificates.Query())
	r, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{})
	equal(t, "error", nil, err)
	equal(t, "outcomes", outcomesOf(c, "loaded", "followed"), byNode(r))

	_, err = open(t, url+"?tls_cert="+certificates.Cert+"&tls_key="+certificates.Key).Plan(t.Context(), lib)
	says(t, err, loader.ErrUnreachable, c.Primaries[0].Addr, "certificate signed by unknown authority")
	_, err = open(t, strings.Replace(url, "rediss", "redis", 1)).Plan(t.Context(), lib)
	says(t, err, loader.ErrUnreachable, c.Primaries[0].Addr)
	_, err = open(t, strings.Replace(url, "word@", "@", 1)+certificates.Query()).Plan(t.Context(), lib)
	says(t, err, loader.ErrNoPermission, "the server does not know this user and password")
}

func TestTLS_serverNameMustMatch(t *testing.T) {
	t.Parallel()
	certificates := engines.NewCertificates(t, "redis.internal")
	m := engines.OnPath(t).TLS(t, certificates).Start(t)
	replica := m.StartReplica(t)
	lib := bundle("shop", "1.0.0", "buy")
	url := "rediss://" + m.Addr + certificates.Query()
	says(t, planOf(t, open(t, url), lib).Nodes[0].Problem, loader.ErrUnreachable, "doesn't contain any IP SANs", "?tls_server_name=")

	target := open(t, url+"&tls_server_name=redis.internal")
	r, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{})
	equal(t, "error", nil, err)
	equal(t, "outcomes", map[string][]string{m.Addr: {"loaded"}, replica.Addr: {"followed"}}, byNode(r))
}

func TestUnixSocket_includesReplicas(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	if len(socket) > 100 {
		t.Skipf("SKIPPED: a socket path cannot have %d bytes", len(socket))
	}
	m := engines.OnPath(t).Start(t, "--unixsocket", socket)
	replica := m.StartReplica(t)
	must(t, m.Client(t).Do(t.Context(), "ACL", "SETUSER", "deployer", "on", ">p", "~rlfunc:*", "+@all").Err())
	must(t, replica.Client(t).Do(context.Background(), "ACL", "SETUSER", "deployer", "on", ">p", "+function|list").Err())
	target := open(t, "unix://deployer:p@"+socket)
	lib := bundle("shop", "1.0.0", "buy")
	r, err := target.Apply(t.Context(), planOf(t, target, lib), loader.ApplyOptions{})
	equal(t, "error", nil, err)
	equal(t, "outcomes", map[string][]string{socket: {"loaded"}, replica.Addr: {"followed"}}, byNode(r))
}
