package typescript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/typescript"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// TestClients compiles the generated clients of every library with tsc --strict, and runs them on Node.js.
func TestClients(t *testing.T) {
	onpath.Full(t)
	dir := clienttest.TypeScript(t, "../../../functions", "../conformance/functions", "../clients/testdata/functions")
	for _, name := range []string{"conformance.ts", "cluster.ts", "node.d.ts"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		clienttest.Write(t, filepath.Join(dir, name), text)
	}
	page, err := os.ReadFile("../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range regexp.MustCompile("(?s)\n```ts\n(.*?)\n```").FindAllSubmatch(page, -1) {
		clienttest.Write(t, filepath.Join(dir, fmt.Sprintf("page%d.ts", i)), append(block[1], '\n'))
	}
	vectors, err := filepath.Abs("../conformance/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Abs("../clients/testdata/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	clienttest.Run(t, dir, nil, onpath.Program(t, "tsc"), "-p", ".")
	env := []string{"VECTORS=" + vectors, "KEYS=" + keys, "NODE_PATH=" + clienttest.NodeModules}
	t.Run("on a server", func(t *testing.T) { onAServer(t, dir, env) })
	t.Run("on a cluster", func(t *testing.T) { onACluster(t, dir, env) })
}

// onAServer runs the clients against a server and a proxy that loses replies.
func onAServer(t *testing.T, dir string, env []string) {
	address := engines.OnPath(t).Start(t).Addr
	env = append(env, "REDIS="+address, "PROXY="+clienttest.Proxy(t, address), "REDIS_URL=redis://"+address)
	clienttest.Run(t, dir, env, onpath.Program(t, "node"), "--test", "conformance.js")
	for i, want := range map[int]string{0: "9 left\n", 1: "none [ 9, 99 ]\n"} { // the third block needs a cluster
		if out := clienttest.Run(t, dir, env, onpath.Program(t, "node"), fmt.Sprintf("page%d.js", i)); out != want {
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
