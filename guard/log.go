package guard

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/moment"
)

// A notice is something that an operator has to learn of, also where a service set no hooks.
type notice int

const (
	noticeBreaker notice = iota
	noticeReload
	noticeWithout
	noticeFailed
	noticeSettled
	notices
)

// noticeEvery is how often a kind of notice is logged at most.
const noticeEvery = time.Second

// A logger bounds how often slog's default logger gets what hooks would hear. The zero value is ready.
type logger struct {
	last [notices]atomic.Int64
	once [notices]atomic.Bool
}

// warn logs a notice of a guard without hooks.
func (g *Guard) warn(n notice, message string, args ...any) {
	if len(g.hooks) > 0 {
		return
	}
	at := int64(moment.Now())
	last := g.log.last[n].Load()
	first := g.log.once[n].CompareAndSwap(false, true)
	if !first && time.Duration(at-last) < noticeEvery || !g.log.last[n].CompareAndSwap(last, at) {
		return
	}
	slog.Warn("guard: "+message, args...)
}
