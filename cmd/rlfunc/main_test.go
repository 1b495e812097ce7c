package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestMain(m *testing.M) {
	testscript.Main(engines.Wrap(located{m}), map[string]func(){
		"rlfunc": func() {
			moduleSource = os.Getenv(sourceVariable)
			main()
		},
		"pack": pack,
	})
}

// pack writes a file packed with gzip beside it, for scripts on a machine without that program.
func pack() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(text)
	w.Close()
	if err := os.WriteFile(os.Args[1]+".gz", packed.Bytes(), 0o644); err != nil {
		panic(err)
	}
}

// sourceVariable has the folder of the source for the scripts' rlfunc, which -trimpath may have built.
const sourceVariable = "RLFUNC_TEST_SOURCE"

// located notes where the module's source is, before a test changes folders.
type located struct{ *testing.M }

func (l located) Run() int {
	var err error
	if moduleSource, err = filepath.Abs("../.."); err != nil {
		panic(err)
	}
	return l.M.Run()
}

// TestScript pins the command line where no server is needed, or the embedded one does.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: goEnvironment})
}

// TestRedis pins the command line on each engine that can be reached.
func TestRedis(t *testing.T) {
	for _, e := range engines.Ends(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			scripts, err := filepath.Glob("testdata/redis/*.txtar")
			if err != nil || len(scripts) == 0 {
				t.Fatalf("no scripts: %v", err)
			}
			for _, script := range scripts {
				e.Client(t) // leaves the server empty
				t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
					runWith(t, script, map[string]string{"REDIS_URL": e.URL})
				})
			}
		})
	}
}

// TestVet pins what vet --run says with a server for tests.
func TestVet(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			e.Client(t) // leaves the server empty
			runWith(t, "testdata/vet.txtar", map[string]string{"REDIS_URL": e.URL})
		})
	}
}

// TestMakefile pins the Makefile of a new project on one engine: TestRedis pins the commands that it calls on each.
func TestMakefile(t *testing.T) {
	onpath.Program(t, "make")
	all := engines.Ends(t)
	if len(all) == 0 {
		t.Skip("SKIPPED: no engine")
	}
	all[0].Client(t)
	runWith(t, "testdata/makefile.txtar", map[string]string{"REDIS_URL": all[0].URL})
}

// TestCluster pins the command line on a cluster with replicas and a primary without slots.
func TestCluster(t *testing.T) {
	c := engines.OnPath(t).StartCluster(t, 2, 1)
	c.Join(t, engines.OnPath(t))
	runWith(t, "testdata/cluster.txtar", map[string]string{
		"REDIS_URL": "redis+cluster://" + c.Primaries[0].Addr + "," + c.Replicas[0].Addr,
		"PRIMARY":   c.Primaries[0].Addr, "REPLICA": c.Replicas[0].Addr, "EMPTY": c.Primaries[2].Addr,
	})
}

// TestSentinel pins the command line where sentinels name the primary.
func TestSentinel(t *testing.T) {
	s := engines.OnPath(t).StartSentinels(t, 1)
	runWith(t, "testdata/sentinel.txtar", map[string]string{
		"REDIS_URL": "redis+sentinel://main@" + strings.Join(s.Addrs(), ","),
		"PRIMARY":   s.Servers[0].Addr, "REPLICA": s.Servers[1].Addr,
	})
}

func runWith(t *testing.T, script string, variables map[string]string) {
	t.Helper()
	testscript.RunT(oneByOne{t}, testscript.Params{Files: []string{script}, Setup: func(env *testscript.Env) error {
		if err := goEnvironment(env); err != nil {
			return err
		}
		for name, value := range variables {
			env.Setenv(name, value)
		}
		return nil
	}})
}

// oneByOne runs the scripts of one server after each other.
type oneByOne struct{ *testing.T }

func (o oneByOne) Parallel() {}

func (o oneByOne) Run(name string, f func(testscript.T)) {
	o.T.Run(name, func(t *testing.T) { f(oneByOne{t}) })
}

func (o oneByOne) Verbose() bool { return testing.Verbose() }

var goVariables = []string{"GOMODCACHE", "GOCACHE", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN", "CGO_ENABLED"}

// goEnv returns the value of each of goVariables, one a line.
var goEnv = sync.OnceValues(func() (string, error) {
	onpath.Used() // what it reads is not part of this program
	values, err := exec.Command("go", append([]string{"env"}, goVariables...)...).Output()
	return string(values), err
})

// goEnvironment lets a script use the Go tool with the caches of the machine, which otherwise compiles all modules again.
func goEnvironment(env *testscript.Env) error {
	values, err := goEnv()
	if err != nil {
		return err
	}
	for i, value := range strings.Split(strings.TrimSuffix(values, "\n"), "\n") {
		env.Setenv(goVariables[i], value)
	}
	env.Setenv("PATH", env.Getenv("PATH")+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv(sourceVariable, moduleSource)
	env.Setenv("REDIS_URL", "")
	return nil
}

// must ends the test at an error of its own setup.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
