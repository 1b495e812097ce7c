package typescript_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rlfunc/rlfunc/internal/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// TestClients_onRealRedis compiles the generated clients of every library with tsc --strict, and runs them on Node.js against a server
// and a proxy that loses replies.
func TestClients_onRealRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: servers are not started with -short")
	}
	dir := clienttest.TypeScript(t, "../../../functions", "../conformance/functions")
	address := clienttest.Redis(t)
	for _, name := range []string{"clients.ts", "node.d.ts"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		clienttest.Write(t, filepath.Join(dir, name), text)
	}
	keys, err := filepath.Abs("../clients/testdata/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"REDIS=" + address, "PROXY=" + clienttest.Proxy(t, address), "VECTORS=" + keys, "NODE_PATH=" + clienttest.NodeModules}
	clienttest.Run(t, dir, env, onpath.Program(t, "tsc"), "-p", ".")
	clienttest.Run(t, dir, env, onpath.Program(t, "node"), "--test", "clients.js")
}
