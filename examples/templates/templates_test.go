package templates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/functions"
)

// Each project has its own copies of shared Lua.
func TestTemplates_sharedLuaIsCurrent(t *testing.T) {
	for _, name := range []string{"lib/clock.lua", "lib/refusal.lua"} {
		want, err := functions.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		have, err := files.ReadFile("functions/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(have)); diff != "" {
			t.Errorf("functions/%s differs from that of this repository; copy it (-want +got):\n%s", name, diff)
		}
	}
}
