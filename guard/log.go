package guard

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// A notice is a kind of message that operators need even if the service sets no hooks.
type notice int

const (
	noticeBreaker notice = iota
	noticeRejected
	noticeReplaced
	noticeFallback
	noticeFailed
	noticeSettled
	noticeUndefined
	noticeUnknown
	noticeClient
	noticeKinds
)

// noticeInterval is the shortest time between two logs of one notice.
const noticeInterval = time.Second

// A logger limits the logs of each notice. The zero value is ready.
type logger struct {
	last   [noticeKinds]atomic.Int64
	logged [noticeKinds]atomic.Bool
}

// warn logs a notice of a problem.
func (g *Guard) warn(n notice, message string, args ...any) {
	g.notify(slog.LevelWarn, n, message, args...)
}

// notify logs a notice, unless the guard has hooks.
func (g *Guard) notify(level slog.Level, n notice, message string, args ...any) {
	if len(g.hooks) > 0 {
		return
	}
	at := int64(monotime.Now())
	last := g.log.last[n].Load()
	first := g.log.logged[n].CompareAndSwap(false, true)
	if !first && time.Duration(at-last) < noticeInterval || !g.log.last[n].CompareAndSwap(last, at) {
		return
	}
	slog.Log(context.Background(), level, "guard: "+message, args...)
}
