package fcall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	loadInterval = time.Second     // minimum between two loads on one node
	loadTimeout  = 5 * time.Second // for one load, unless the client's own timeouts are shorter
)

// Stats count what a Client did about servers that lacked its library.
type Stats struct {
	NotLoaded uint64 // calls that found the library missing
	Loads     uint64 // loads that succeeded, one for each node that lacked the library
	Refused   uint64 // loads that failed, got no answer, or came after another client's
}

// An autoloader loads a client's library on nodes that lack it. When many calls find it missing, one loads it and the others
// wait. It never replaces a library: the server refuses a library that is already there, whatever its version.
type autoloader struct {
	caller Caller
	lib    *Library
	off    bool
	now    func() time.Time

	ended     atomic.Uint64 // loads that have ended; a call notes it before it is sent, because a later load may provide what it misses
	notLoaded atomic.Uint64
	loads     atomic.Uint64
	refused   atomic.Uint64

	mu    sync.Mutex
	nodes map[string]*flight // the latest load on each
}

// A flight is one load on one node.
type flight struct {
	done chan struct{}
	// Set when done is closed:
	number uint64 // position in load completion order, from 1
	at     time.Time
	err    error
}

// load loads the missing library, or waits for a load in progress. Without an error the call should be sent once more.
func (a *autoloader) load(ctx context.Context, cmd *command, mark uint64) (*flight, error) {
	to, late := within(ctx, func() route { return routeOf(ctx, a.caller, cmd) })
	if late {
		return nil, ctx.Err()
	}
	a.mu.Lock()
	f := a.nodes[to.addr]
	switch {
	case f == nil || f.over() && f.number <= mark && a.now().Sub(f.at) >= loadInterval:
		f = &flight{done: make(chan struct{})}
		if a.nodes == nil {
			a.nodes = map[string]*flight{}
		}
		a.nodes[to.addr] = f
		// Other calls wait for the load, so it does not end with this call's context.
		go a.run(context.WithoutCancel(ctx), f, to)
	case f.over() && f.number <= mark:
		a.mu.Unlock()
		if f.err != nil {
			return f, fmt.Errorf("a load less than 1 s ago failed: %w", f.err)
		}
		return f, errors.New("it was loaded less than 1 s ago and is missing again; check what deletes it")
	}
	a.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.done:
	}
	return f, permanentError(f.err)
}

func (a *autoloader) run(ctx context.Context, f *flight, at route) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	// Without REPLACE, and at most once.
	err := at.run(ctx, &command{Cmd: redis.NewCmd(ctx, "FUNCTION", "LOAD", a.lib.Code)})
	a.mu.Lock()
	defer a.mu.Unlock()
	f.number, f.at, f.err = a.ended.Add(1), a.now(), err
	if err == nil {
		a.loads.Add(1)
	} else {
		a.refused.Add(1)
	}
	close(f.done)
}

// over reports whether the load has ended. The autoloader is locked.
func (f *flight) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// permanentError returns the error of a load after which the library is certainly missing. After ERR the library may be there
// already, and after a lost reply it may have been loaded; sending the call again finds out.
func permanentError(err error) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return nil
	}
	switch code, _, _ := strings.Cut(reply.Error(), " "); code {
	case "ERR":
		return nil
	case "NOPERM":
		return fmt.Errorf("the user needs +function|load: %w", err)
	case "READONLY":
		return fmt.Errorf("this is a replica, which gets its libraries from the primary: %w", err)
	}
	return err
}

// missing returns why a call that was sent again found no library.
func (f *flight) missing() error {
	if f.err == nil {
		return errors.New("it was loaded, but the call did not find it; it may go to a replica that has not received it yet")
	}
	if strings.Contains(f.err.Error(), "already exists") {
		return fmt.Errorf("%w, without the function; a client never replaces a library: run `rlfunc deploy`", f.err)
	}
	return f.err
}

// because completes the error of a call that found the library missing.
func (e *NotLoadedError) because(cause error) error {
	var reply redis.Error
	if errors.As(cause, &reply) && strings.HasPrefix(reply.Error(), "ERR unknown command") { // it refuses FUNCTION
		return &UnavailableError{Function: e.Function, Attempts: 1, Cause: cause, kind: ErrUnsupported, Hint: noFunctions}
	}
	e.Cause = cause
	return e
}
