package engines

import (
	"context"
	"crypto/tls"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A Program is a server program that topologies are made of: one on PATH, or one in an image of this machine.
type Program struct {
	Name    string // "path-redis-server-7.0.15", "redis-8.0"
	command string
	run     func(ctx context.Context, command string, args []string) (box, error)
	tls     *tls.Config // of clients, or nil
	args    []string    // that all of its servers have
}

// flags are the arguments of a server on the port.
func (p Program) flags(port int, args []string) []string {
	flag := "--port"
	if p.tls != nil {
		flag = "--tls-port"
	}
	return slices.Concat(p.args, []string{flag, strconv.Itoa(port)}, args)
}

// A box is where a server runs.
type box interface {
	kill() // at once, as a crash would
	pause() error
	resume() error
	log() string
}

// OnPath returns the server program on PATH. Without one the test is skipped, and fails where RLFUNC_REQUIRE_ENGINES asks for
// engines at all.
func OnPath(t testing.TB) Program {
	t.Helper()
	skipUnwanted(t)
	onpath.Looked()
	for _, command := range []string{"redis-server", "valkey-server"} {
		if version := onPath(command); version != "" {
			onpath.Used()
			return Program{Name: "path-" + command + "-" + version, command: command, run: asChild}
		}
	}
	if requiresReal() {
		t.Fatalf("engines: no redis-server or valkey-server on PATH, and RLFUNC_REQUIRE_ENGINES is %q", os.Getenv("RLFUNC_REQUIRE_ENGINES"))
	}
	onpath.Lacking(t, "redis-server is not on PATH, nor is valkey-server")
	return Program{}
}

// skipUnwanted skips a test of real servers where RLFUNC_ENGINES names the embedded engine alone.
func skipUnwanted(t testing.TB) {
	t.Helper()
	if patterns := names("RLFUNC_ENGINES"); len(patterns) > 0 && !requiresReal() && !slices.ContainsFunc(patterns, func(p string) bool { return p != "embedded" }) {
		t.Skip("SKIPPED: RLFUNC_ENGINES leaves out real servers")
	}
}

// requiresReal reports whether RLFUNC_REQUIRE_ENGINES names a real engine.
func requiresReal() bool {
	return slices.ContainsFunc(names("RLFUNC_REQUIRE_ENGINES"), func(name string) bool { return name != "embedded" })
}

func asChild(_ context.Context, command string, args []string) (box, error) {
	c, err := startChild(command, args...)
	if err != nil {
		return nil, err
	}
	return c, nil
}

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
