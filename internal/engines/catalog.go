package engines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// catalog lists every engine that there could be, in the order in which tests run on them. If they run on one, it is the last one that is
// there. A new one is also in .ci/images, and in .ci/run for CI.
func catalog() []*slot {
	slots := []*slot{
		{name: "embedded", start: inProcess},
		ofImage("redis-7.0", "redis-server", "redis:7.0"),
		between(ofImage("redis-8.0", "redis-server", "redis:8.0")),
		between(ofImage("valkey-8", "valkey-server", "valkey/valkey:8.1", "valkey/valkey:8.0", "valkey/valkey:8")),
		ofImage("redis-8", "redis-server", "redis:8"),
		ofImage("valkey-9", "valkey-server", "valkey/valkey:9"),
	}
	for _, p := range []struct{ program, server string }{{"valkey-server", "Valkey"}, {"redis-server", "Redis"}} {
		if version := onPath(p.program); version != "" {
			slots = append(slots, &slot{
				name: "path-" + p.program + "-" + version, real: true, start: asProgram(p.program), onPath: p.server + " " + version,
			})
		}
	}
	return append(slots, &slot{name: "redis-url", real: true, open: given})
}

// between marks a server that is neither the oldest nor the newest of its kind.
func between(s *slot) *slot {
	s.between = true
	s.reason = "only tests of what differs between servers run on it"
	return s
}

// ofImage returns the slot of a server in a container of the first image that is on this machine.
func ofImage(name, program string, images ...string) *slot {
	run := inContainer(program, images...)
	return &slot{
		name: name, real: true,
		start: func(ctx context.Context, args []string) (*server, error) { return run(ctx, "", args) },
		open: func(ctx context.Context) (*server, error) {
			return fromPool(name, func(container string) (*server, error) { return run(ctx, container, nil) })
		},
	}
}

// fromPool returns a server in a container that this process alone has until it ends. Where RLFUNC_ENGINE_POOL names a folder, the
// container stays: the next process takes it over, empty, and the owner of the folder removes it. start starts the server of a container,
// or finds it if it runs; a container without a name ends with this process.
func fromPool(engine string, start func(container string) (*server, error)) (*server, error) {
	pool := os.Getenv("RLFUNC_ENGINE_POOL")
	if pool == "" {
		return start("")
	}
	for n := 1; ; n++ {
		container := fmt.Sprintf("%s-%s-%d", filepath.Base(pool), engine, n)
		unlock, locked, err := tryLockFile(filepath.Join(pool, container))
		if err != nil {
			return nil, err
		}
		if !locked {
			continue
		}
		s, err := start(container)
		if err != nil {
			unlock()
			return nil, err
		}
		s.end = func() {
			s.leaveEmpty()
			unlock()
		}
		return s, nil
	}
}
