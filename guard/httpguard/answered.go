package httpguard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
)

// answered holds the status of the response; 0 until it begins. A response begins with a status that is not informational, a byte of the
// body, a flush or a hijack.
type answered struct{ status atomic.Int32 }

func (a *answered) began() bool { return a.status.Load() != 0 }

// is stores the status, once.
func (a *answered) is(status int) { a.status.CompareAndSwap(0, int32(status)) }

// received returns the status that the client got of a handler that returned or panicked, or those that it may have got. Outer handlers
// decide it: one that recovers from a panic answers 500, and one whose time is up 503, as http.TimeoutHandler does, or 504.
func (a *answered) received(ctx context.Context, outer http.ResponseWriter, returned bool) []int {
	tooLate := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case a.began() && tooLate:
		if _, err := outer.Write(nil); errors.Is(err, http.ErrHandlerTimeout) {
			return []int{http.StatusServiceUnavailable} // http.TimeoutHandler drops what the handler wrote
		}
	case a.began():
	case !returned:
		return []int{http.StatusInternalServerError}
	case tooLate:
		return []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	default:
		return []int{http.StatusOK} // net/http writes it
	}
	return []int{int(a.status.Load())}
}

// observe wraps w, keeps its optional interfaces, and returns the status of what is written to it.
func observe(w http.ResponseWriter) (http.ResponseWriter, *answered) {
	a := new(answered)
	ok := func() { a.is(http.StatusOK) }
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				if code >= 200 || code == http.StatusSwitchingProtocols {
					a.is(code)
				}
				next(code)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) { ok(); return next(b) }
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(s string) (int, error) { ok(); return next(s) }
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { ok(); return next(src) }
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() { ok(); next() }
		},
		FlushError: func(next httpsnoop.FlushErrorFunc) httpsnoop.FlushErrorFunc {
			return func() error { ok(); return next() }
		},
		Hijack: func(next httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) { a.is(http.StatusSwitchingProtocols); return next() }
		},
	}), a
}
