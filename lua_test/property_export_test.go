package luatest

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// QueueClock queues a move of a real server's clock. It reports false on the embedded engine, whose clock is moved by
// [Server.Set], between two pipelines.
func (s *Server) QueueClock(ctx context.Context, pipe redis.Pipeliner, to time.Time) bool {
	if s.manual != nil {
		return false
	}
	s.now = to
	for _, lib := range s.libs {
		pipe.Do(ctx, "FCALL", lib.ServerName+"_set_clock", 0, strconv.FormatInt(to.UnixMicro(), 10))
	}
	return true
}

// EndMS turns what PEXPIRETIME answers into the millisecond in which the key expires by the test's clock.
func (s *Server) EndMS(answer int64) int64 {
	if answer < 0 {
		return answer
	}
	return answer - s.late.Milliseconds()
}
