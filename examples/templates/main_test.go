package templates_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

var update = flag.Bool("update", false, "rewrite gen/ and the shared files of functions/lib")

func TestMain(m *testing.M) { engines.Main(m) }

// A project's own suites run on the embedded engine and REDIS_URL. Here they run on every engine that can be reached.
func init() {
	suite.Engines, bloomSuite.Engines, counterSuite.Engines = everywhere, everywhere, everywhere
	idempotencySuite.Engines, inventorySuite.Engines, leaderboardSuite.Engines = everywhere, everywhere, everywhere
	lockSuite.Engines, queueSuite.Engines, semaphoreSuite.Engines, transferSuite.Engines = everywhere, everywhere, everywhere, everywhere
}

func everywhere(t testing.TB) []luatest.Engine {
	var all []luatest.Engine
	for _, e := range engines.Ends(t) {
		all = append(all, luatest.Engine{Name: e.Name, Client: e.Client, Embedded: e.Embedded, Clock: e.Clock})
	}
	return all
}

func TestTemplates_generatedFilesAndSharedLuaAreCurrent(t *testing.T) {
	want := map[string][]byte{}
	for _, name := range []string{"lib/clock.lua", "lib/refusal.lua"} {
		text, err := functions.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want["functions/"+name] = text
	}
	tree, found := codegen.Load(os.DirFS("functions"), "functions", codegen.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	generated, err := codegen.Generate(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range generated {
		want["gen/"+name] = text
	}
	for name, text := range want {
		file := filepath.FromSlash(name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(have)); diff != "" {
			t.Errorf("%s differs; run go test -update (-want +got):\n%s", file, diff)
		}
	}
}
