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
	lib := &fcall.Library{Files: []fcall.Section{
		{Line: 3, File: "lib/clock.lua", FileLine: 1}, {Line: 10}, {Line: 12, File: "ratelimit/gcra.lua", FileLine: 20},
	}}
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
		{2, position{"", 2}},
		{3, position{"lib/clock.lua", 1}},
		{9, position{"lib/clock.lua", 7}},
		{10, position{"", 10}},
		{11, position{"", 11}},
		{12, position{"ratelimit/gcra.lua", 20}},
		{100, position{"ratelimit/gcra.lua", 108}},
	}
	for _, s := range steps {
		file, line := lib.Locate(s.line)
		if diff := cmp.Diff(s.want, position{file, line}); diff != "" {
			t.Errorf("line %d (-want +got)\n%s", s.line, diff)
		}
	}
	if file, line := new(fcall.Library).Locate(7); file != "" || line != 7 {
		t.Errorf("without sections: %q, %d", file, line)
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
		"github.com/rlfunc/rlfunc/internal/marks", "github.com/rlfunc/rlfunc/internal/requires", "github.com/rlfunc/rlfunc/internal/serverinfo", // import the standard library only
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
