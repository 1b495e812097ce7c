package property_test

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// lateMS is how much later the test's clock stores an expiry on a real server, as ../clock.lua says.
const lateMS = 3_153_600_000_000

// queueClock queues a move of a real server's clock. It reports false on the embedded engine, whose clock is moved between two
// pipelines.
func (p *player[C, M]) queueClock(ctx context.Context, pipe redis.Pipeliner, to time.Time) bool {
	if p.server.Engine == "embedded" {
		return false
	}
	for _, lib := range append([]*fcall.Library{p.family.suite.Library}, p.family.suite.ExtraLibraries...) {
		pipe.Do(ctx, "FCALL", lib.ServerName+"_set_clock", 0, strconv.FormatInt(to.UnixMicro(), 10))
	}
	return true
}

// endMS turns what PEXPIRETIME answers into the millisecond in which the key expires by the test's clock.
func (p *player[C, M]) endMS(answer int64) int64 {
	if answer < 0 || p.server.Engine == "embedded" {
		return answer
	}
	return answer - lateMS
}
