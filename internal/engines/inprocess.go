package engines

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

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
