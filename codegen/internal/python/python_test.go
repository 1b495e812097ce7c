package python_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const interpreter = "/usr/bin/python3" // Debian's, which sees python3-redis, python3-pytest and mypy

// installed returns a folder with the generated clients of the libraries in some folders.
func installed(t *testing.T, roots ...string) (dir string) {
	t.Helper()
	onpath.Full(t)
	if err := exec.Command(interpreter, "-c", "import redis, pytest, mypy").Run(); err != nil {
		onpath.Lacking(t, "%s lacks redis, pytest or mypy: %v", interpreter, err)
	}
	dir = t.TempDir()
	clienttest.Generate(t, codegen.Python, dir, roots...)
	return dir
}

func environment(dir string) []string {
	return []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1"}
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestClients_onRealRedis runs the generated clients of every library, type-checked, against a server and a proxy that loses replies.
func TestClients_onRealRedis(t *testing.T) {
	dir := installed(t, "../../../functions", "../conformance/functions", "../clients/testdata/functions")
	address := engines.OnPath(t).Start(t).Addr
	env := append(environment(dir), "REDIS="+address, "PROXY="+clienttest.Proxy(t, address), "VECTORS="+absolute(t, "../clients/testdata"))
	clienttest.Run(t, dir, env, interpreter, "-m", "mypy", "--strict", "rlfunc_clients")
	clienttest.Run(t, dir, env, interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", absolute(t, "testdata/test_clients.py"))
}
