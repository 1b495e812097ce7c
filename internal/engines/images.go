package engines

import (
	"slices"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// images are the programs that topologies can be made of beside the one on PATH, the newest, by the name of their engine.
var images = []struct {
	image string
	Program
}{
	{"redis:8", Program{Name: "redis-8", command: "redis-server", run: onHost("redis:8")}},
	{"valkey/valkey:9", Program{Name: "valkey-9", command: "valkey-server", run: onHost("valkey/valkey:9")}},
}

// Images returns the server programs of images that are on this machine, to be run on its network: the nodes of a cluster reach one another at the
// addresses by which clients reach them. A missing one fails the test if RLFUNC_REQUIRE_ENGINES names its engine, and without any the test is skipped.
func Images(t testing.TB) []Program {
	t.Helper()
	skipUnwanted(t)
	onpath.Looked()
	var found []Program
	for _, i := range images {
		if err := usable(t.Context(), i.image); err != nil {
			if slices.Contains(names("RLFUNC_REQUIRE_ENGINES"), i.Name) {
				t.Fatalf("engines: %s is required: %v", i.Name, err)
			}
			t.Logf("engines: no topologies of %s: %v", i.Name, err)
			continue
		}
		found = append(found, i.Program)
	}
	if len(found) == 0 {
		t.Skip("SKIPPED: no image to make topologies of; make test-all uses those that make images gets")
	}
	onpath.Used()
	return found
}
