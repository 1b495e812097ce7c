package engines

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A Program is a server program that topologies are made of: one on PATH, or one in an image of this machine.
type Program struct {
	Name    string // "path-redis-server-7.0.15", "redis-8.0"
	command string
	run     func(ctx context.Context, command string, args []string) (box, error)
	client  func(*redis.Options)
}

// A box is where a server runs.
type box interface {
	kill() // at once, as a crash would
	pause() error
	resume() error
	log() string
}

// As returns the program for servers that take connections with the given options only: a user, TLS.
func (p Program) As(change func(*redis.Options)) Program {
	p.client = change
	return p
}

// OnPath returns the server program on PATH. Without one the test is skipped, and fails where RLFUNC_REQUIRE_ENGINES asks for
// engines at all.
func OnPath(t testing.TB) Program {
	t.Helper()
	skipShort(t)
	for _, command := range []string{"redis-server", "valkey-server"} {
		if version := onPath(command); version != "" {
			return Program{Name: "path-" + command + "-" + version, command: command, run: asChild}
		}
	}
	missing(t, len(names("RLFUNC_REQUIRE_ENGINES")) > 0, "no redis-server or valkey-server on PATH")
	return Program{}
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() && len(names("RLFUNC_REQUIRE_ENGINES")) == 0 {
		t.Skip("SKIPPED: topologies of real servers are not started with -short")
	}
}

func missing(t testing.TB, required bool, why string) {
	t.Helper()
	if required {
		t.Fatalf("engines: %s, and RLFUNC_REQUIRE_ENGINES is %q", why, os.Getenv("RLFUNC_REQUIRE_ENGINES"))
	}
	t.Skipf("SKIPPED: %s", why)
}

func requires(name string) bool { return slices.Contains(names("RLFUNC_REQUIRE_ENGINES"), name) }

func asChild(_ context.Context, command string, args []string) (box, error) {
	c, err := startChild(command, args...)
	if err != nil {
		return nil, err
	}
	return c, nil
}
