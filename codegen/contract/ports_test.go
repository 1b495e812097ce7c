package contract_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// A port does what a script of another project does, in Lua of its own: testdata/ports is a project of such libraries. Vet has findings in
// them that are false, and no comments silence these: they are what a better check is measured by. Running them has none.
const ports = "testdata/ports/functions"

// A step is a call in words, and what it answers. Without writes it must change no key.
type step struct {
	name    string
	advance time.Duration
	given   []any // a command before the call
	call    string
	want    string
	wantErr error
	writes  bool
}

func loadPorts(t *testing.T) *source.Tree {
	t.Helper()
	tree, found := source.Load(os.DirFS(ports), "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	return tree
}

// play runs a scenario of a library, from an empty server on.
func play(t *testing.T, tree *source.Tree, name string, steps []step) {
	t.Helper()
	lib, ok := tree.Library(name)
	if !ok {
		t.Fatalf("no library %s", name)
	}
	held := runtime.Library(lib)
	for _, fn := range lib.Spec.Functions {
		for _, k := range fn.Keys() {
			if k.Forever && !slices.Contains(held.Forever, k.Suffix) {
				held.Forever = append(held.Forever, k.Suffix)
			}
		}
	}
	slices.Sort(held.Forever)
	suite := luatest.Suite[*fcall.Client]{
		Library: held, Source: os.DirFS(ports), Root: "functions",
		Client: func(c fcall.Caller, o fcall.Options) (*fcall.Client, error) { return fcall.NewClient(c, held, o) },
	}
	table := make([]luatest.Step[*fcall.Client], len(steps))
	for i, s := range steps {
		table[i] = luatest.Step[*fcall.Client]{Name: s.name, Advance: s.advance, WantErr: s.wantErr, Writes: s.writes}
		if s.call != "" {
			table[i].Call = words(&lib.Spec, s.call)
		}
		if s.wantErr == nil {
			table[i].Want = s.want
		}
		if s.given != nil {
			table[i].Given = func(t testing.TB, server *luatest.Server) { server.Do(t, s.given...) }
		}
	}
	if !keepsStreams(&lib.Spec) {
		suite.Run(t, table...)
		return
	}
	suite.Each(t, func(t *testing.T, server *luatest.Server, client *fcall.Client) {
		for i, s := range table {
			playStream(t, server, client, s, held.Forever, fmt.Sprintf("step %d (%s)", i+1, s.Name))
		}
	})
}

// playStream plays a step as a suite does, but cannot say whether it writes: a suite compares streams by DUMP, which the embedded engine
// lacks.
func playStream(t *testing.T, server *luatest.Server, client *fcall.Client, s luatest.Step[*fcall.Client], forever []string, name string) {
	t.Helper()
	server.Advance(t, s.Advance)
	if s.Given != nil {
		s.Given(t, server)
	}
	got, err := s.Call(t.Context(), client)
	if !errors.Is(err, s.WantErr) {
		t.Fatalf("%s: error is %v, want %v", name, err, s.WantErr)
	}
	if diff := cmp.Diff(s.Want, got); err == nil && diff != "" {
		t.Fatalf("%s: result (-want +got):\n%s", name, diff)
	}
	keys, err := server.Redis.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		ttl, err := server.Redis.PTTL(t.Context(), k).Result()
		if err != nil {
			t.Fatal(err)
		}
		if lasts := slices.ContainsFunc(forever, func(suffix string) bool { return strings.HasSuffix(k, ":"+suffix) }); ttl < 0 && !lasts {
			t.Fatalf("%s: the call left %s without an expiry", name, k)
		}
	}
}

func keepsStreams(lib *spec.Library) bool {
	return slices.ContainsFunc(lib.Functions, func(f spec.Function) bool {
		return slices.ContainsFunc(f.Keys(), func(k spec.Field) bool { return k.Redis == "stream" })
	})
}

func TestPorts_doWhatTheirOriginalsDo(t *testing.T) {
	tree := loadPorts(t)
	for _, lib := range tree.Libraries {
		t.Run(lib.Spec.Name, func(t *testing.T) {
			if n := len(lib.Spec.Functions); n < 1 || n > 4 {
				t.Errorf("has %d functions, want 1 to 4", n)
			}
			steps := scenarios[lib.Spec.Name]
			if steps == nil {
				t.Fatal("has no scenario")
			}
			play(t, tree, lib.Spec.Name, steps)
		})
	}
	if len(scenarios) != len(tree.Libraries) {
		t.Errorf("%d scenarios for %d libraries", len(scenarios), len(tree.Libraries))
	}
}

// A finding of these is either a fault that its project has, too, or one of the checker.
func TestPorts_keepTheirContracts(t *testing.T) {
	for _, lib := range loadPorts(t).Libraries {
		t.Run(lib.Spec.Name, func(t *testing.T) {
			r, err := contract.Run([]*contract.Library{contract.Of(lib)}, contract.Options{Calls: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				t.Errorf("%s\n%s", f, f.Paste())
			}
		})
	}
}

// The test's clock replaces the project's, so that has to be the one that every project gets.
func TestPorts_shareTheClock(t *testing.T) {
	want, err := functions.FS.ReadFile("lib/clock.lua")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(ports + "/lib/clock.lua")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		t.Errorf("copy functions/lib/clock.lua (-want +have):\n%s", diff)
	}
}
