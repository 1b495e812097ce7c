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

// TestClients_conform type-checks the generated clients of every library, and runs the vectors that all languages share.
func TestClients_conform(t *testing.T) {
	dir := installed(t, "../../../functions", "../conformance/functions", "../clients/testdata/functions")
	address := engines.OnPath(t).Start(t).Addr
	env := append(environment(dir), "REDIS="+address, "PROXY="+clienttest.Proxy(t, address),
		"VECTORS="+absolute(t, "../conformance/testdata/vectors.json"), "KEYS="+absolute(t, "../clients/testdata/keys.json"))
	clienttest.Run(t, dir, env, interpreter, "-m", "mypy", "--strict", "rlfunc_clients", absolute(t, "testdata/use.py"))
	clienttest.Run(t, dir, env, interpreter, absolute(t, "testdata/conformance.py"))
}
