package engines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
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
	return slots
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

// Start is the time at which the clock of the embedded engine stands when a test gets its client.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// inProcess starts the embedded engine on a clock that tests move, and listens on a loopback port, so that it is
// reached as the others are. Arguments are settings, given with CONFIG SET.
func inProcess(ctx context.Context, args []string) (*server, error) {
	clock := embedded.NewManualClock(Start)
	s := embedded.New(embedded.Options{Clock: clock})
	end := func() { _ = s.Close() }
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		end()
		return nil, err
	}
	o := redis.Options{Addr: addr.String()}
	version, err := await(ctx, o, nil)
	if err == nil {
		err = configure(ctx, s, args)
	}
	if err != nil {
		end()
		return nil, err
	}
	return &server{
		version:  version,
		how:      "in the process",
		url:      "redis://" + o.Addr + "/0",
		options:  o,
		embedded: s,
		clock:    clock,
		end:      end,
	}, nil
}

func configure(ctx context.Context, s *embedded.Server, args []string) error {
	for i := 0; i+1 < len(args); i += 2 {
		cmd := redis.NewStatusCmd(ctx, "CONFIG", "SET", strings.TrimPrefix(args[i], "--"), args[i+1])
		if err := s.Process(ctx, cmd); err != nil {
			return fmt.Errorf("set %s: %w", args[i], err)
		}
	}
	return nil
}
