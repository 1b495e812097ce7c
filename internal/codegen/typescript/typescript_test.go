package typescript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/codegen/typescript"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// TestClients_onRealRedis compiles the generated clients of every library with tsc --strict, and runs them on Node.js against a server
// and a proxy that loses replies.
func TestClients_onRealRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: servers are not started with -short")
	}
	dir := clienttest.TypeScript(t, "../../../functions", "../conformance/functions", "../clients/testdata/functions")
	address := engines.OnPath(t).Start(t).Addr
	for _, name := range []string{"clients.ts", "node.d.ts"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		clienttest.Write(t, filepath.Join(dir, name), text)
	}
	page := clienttest.Snippets(t, "../../../docs/typescript.md", "ts")
	for i, code := range page {
		clienttest.Write(t, filepath.Join(dir, fmt.Sprintf("page%d.ts", i)), []byte(code))
	}
	vectors, err := filepath.Abs("../clients/testdata")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"REDIS=" + address, "PROXY=" + clienttest.Proxy(t, address), "VECTORS=" + vectors, "NODE_PATH=" + clienttest.NodeModules}
	clienttest.Run(t, dir, env, onpath.Program(t, "tsc"), "-p", ".")
	clienttest.Run(t, dir, env, onpath.Program(t, "node"), "--test", "clients.js")
	prints := []string{"9 left\n", "none [ 9, 99 ]\n"} // the third block needs a cluster
	for i, want := range prints {
		if out := clienttest.Run(t, dir, append(env, "REDIS_URL=redis://"+address), onpath.Program(t, "node"), fmt.Sprintf("page%d.js", i)); out != want {
			t.Errorf("block %d of the page printed %q, want %q", i, out, want)
		}
	}
}

// A library whose name the package already exports would hide it without an error of tsc.
func TestFiles_refusesNamesThatThePackageExports(t *testing.T) {
	for name, legal := range map[string]bool{"minutes": false, "to_date": false, "client": false, "a1,a_1": false, "limits": true, "default": true, "await": true} {
		var libs []*source.Library
		for _, n := range strings.Split(name, ",") {
			libs = append(libs, &source.Library{Spec: spec.Library{Name: n}})
		}
		if _, err := typescript.Files(libs, nil); (err == nil) != legal {
			t.Errorf("libraries %s: %v", name, err)
		}
	}
}
