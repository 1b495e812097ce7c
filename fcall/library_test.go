package fcall_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestLibrary_Locate(t *testing.T) {
	lib := &fcall.Library{Code: strings.Join([]string{
		"#!lua name=x_v1",
		"local rlfunc = (function() -- rlfunc: shared lines=1", "return {}", "end)()",
		"local clock = (function() -- rlfunc: lines=2 file=functions/lib/clock.lua", "local clock = {}", "return clock", "end)()",
		"do -- rlfunc: lines=4 file=functions/x/take.lua", "", "local function take(bucket)", "  return 1", "end",
		"local function x_v1_take(keys)", "end", "end",
	}, "\n")}
	type position struct {
		File string
		Line int
	}
	steps := []struct {
		line int
		want position
	}{
		{-1, position{"", -1}},
		{0, position{"", 0}},
		{1, position{"", 1}},
		{3, position{"", 3}},
		{5, position{"", 5}},
		{6, position{"functions/lib/clock.lua", 1}},
		{7, position{"functions/lib/clock.lua", 2}},
		{8, position{"", 8}},
		{10, position{"functions/x/take.lua", 1}},
		{13, position{"functions/x/take.lua", 4}},
		{14, position{"functions/x/take.lua", 2}}, // what the generator adds is the function's own line
		{100, position{"functions/x/take.lua", 2}},
	}
	for _, s := range steps {
		file, line := lib.Locate(s.line)
		if diff := cmp.Diff(s.want, position{file, line}); diff != "" {
			t.Errorf("line %d (-want +got)\n%s", s.line, diff)
		}
	}
	if file, line := new(fcall.Library).Locate(7); file != "" || line != 7 {
		t.Errorf("without marks: %q, %d", file, line)
	}
}

func TestLibrary_Digest(t *testing.T) {
	lib := &fcall.Library{Code: "abc"}
	if diff := cmp.Diff("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", lib.Digest()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A service that imports a generated client links only go-redis and the standard library.
func TestImports_onlyGoRedis(t *testing.T) {
	onpath.Used() // what it reads is not part of this program
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"github.com/rlfunc/rlfunc/fcall", "github.com/redis/go-redis/v9",
		"github.com/rlfunc/rlfunc/internal/agreed", "github.com/rlfunc/rlfunc/internal/marks", "github.com/rlfunc/rlfunc/internal/servers", // import the standard library only
		"github.com/cespare/xxhash/v2", "go.uber.org/atomic", "golang.org/x/sys/cpu", // what go-redis itself imports
	}
	for _, pkg := range strings.Fields(string(out)) {
		ok := false
		for _, a := range allowed {
			ok = ok || pkg == a || strings.HasPrefix(pkg, a+"/")
		}
		if !ok {
			t.Errorf("fcall links %s", pkg)
		}
	}
}
