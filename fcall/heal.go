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
	healPause    = time.Second     // between two loads on one node
	healPatience = 5 * time.Second // for one load, where the client's own timeouts are longer
)

// Stats count what a Client did about servers that lacked its library.
type Stats struct {
	NotLoaded uint64 // calls that found the library absent
	Loads     uint64 // loads that a server took: once for each node that had lost the library
	Refused   uint64 // loads that a server did not take, for one because another client was faster, or that got no answer
}

// A healer loads a client's library on nodes that lack it. Many calls find it absent at once: one of them loads, the
// others wait for it. Nothing is ever replaced: a server refuses a library that is there already, whatever its version.
type healer struct {
	caller Caller
	lib    *Library
	hook   func(ctx context.Context) error // in place of the load, or nil
	now    func() time.Time

	ended     atomic.Uint64 // loads that have come to an end
	notLoaded atomic.Uint64
	loads     atomic.Uint64
	refused   atomic.Uint64

	mu    sync.Mutex
	nodes map[string]*flight // the newest load on each
}

// A flight is one load on one node.
type flight struct {
	done chan struct{}
	// Of a flight that is done:
	number uint64 // the how manieth to end
	at     time.Time
	err    error

	look sync.Once
	held *held
}

// mark is taken before a call is sent: a load that ends later may be what the call missed.
func (h *healer) mark() uint64 {
	if h == nil {
		return 0
	}
	return h.ended.Load()
}

// heal makes an end of a library's absence, as far as it can. It returns nil if the call is worth sending once more, and
// the load to ask if that does not help.
func (h *healer) heal(ctx context.Context, cmd *command, mark uint64) (*flight, error) {
	h.notLoaded.Add(1)
	place, late := within(ctx, func() place { return placeOf(ctx, h.caller, cmd) })
	if late {
		return nil, left(ctx)
	}
	h.mu.Lock()
	f, started := h.nodes[place.name], false
	switch {
	case f == nil || f.over() && f.number <= mark && h.now().Sub(f.at) >= healPause:
		f, started = &flight{done: make(chan struct{})}, true
		if h.nodes == nil {
			h.nodes = map[string]*flight{}
		}
		h.nodes[place.name] = f
	case f.over() && f.number <= mark:
		h.mu.Unlock()
		return nil, f.tooSoon()
	}
	h.mu.Unlock()
	if started {
		// Others wait for it, so it does not end with the context of the call that happened to be first.
		go h.load(context.WithoutCancel(ctx), f, place)
	}
	one, other := leave(ctx)
	select {
	case <-one:
		return nil, left(ctx)
	case <-other:
		return nil, left(ctx)
	case <-f.done:
	}
	if h.hook != nil {
		return f, f.err
	}
	return f, hopeless(f.err)
}

func (h *healer) load(ctx context.Context, f *flight, at place) {
	ctx, cancel := context.WithTimeout(ctx, healPatience)
	defer cancel()
	var err error
	if h.hook != nil {
		err = h.hook(ctx)
	} else {
		err = at.run(ctx, newLoad(ctx, h.lib))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f.number, f.at, f.err = h.ended.Add(1), h.now(), err
	if err == nil {
		h.loads.Add(1)
	} else {
		h.refused.Add(1)
	}
	close(f.done)
}

// over is called with the healer's lock.
func (f *flight) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

func (f *flight) tooSoon() error {
	if f.err != nil {
		return fmt.Errorf("a load less than a second ago failed: %w", f.err)
	}
	return errors.New("it was loaded less than a second ago and is gone again; does something delete it?")
}

// hopeless is the error of a load after which the library is surely still absent. A refusal with ERR may mean that it is
// there by now, and a lost reply that it was loaded: the call itself finds out.
func hopeless(err error) error {
	var reply redis.Error
	if err == nil || !errors.As(err, &reply) {
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

// explain completes the error of a call that found the library absent although the load f has been tried.
func (h *healer) explain(ctx context.Context, lost *NotLoadedError, cmd *command, f *flight) error {
	if f.err == nil {
		lost.Cause = errors.New("it was loaded, and the call did not find it even then; does the call go to a replica that has not received it yet?")
		return lost
	}
	switch held := h.look(ctx, cmd, f); {
	case held == nil:
		lost.Cause = f.err
	case held.retired != "":
		lost.Cause = errors.New("it was retired at " + held.retired + "; upgrade this client, or bring the library back with `rlfunc deploy`")
	default:
		lost.Found = held.version
	}
	return lost
}

// look reads what a node holds that refused the load f, once for all calls that wait for f; nil if it holds no such
// library, or does not say.
func (h *healer) look(ctx context.Context, cmd *command, f *flight) *held {
	found, _ := within(ctx, func() *held {
		f.look.Do(func() {
			list := redis.NewCmd(ctx, "FUNCTION", "LIST", "LIBRARYNAME", h.lib.ServerName, "WITHCODE")
			if placeOf(ctx, h.caller, cmd).run(ctx, list) == nil {
				f.held = readHeld(list.Val())
			}
		})
		return f.held
	})
	return found
}

// newLoad is a FUNCTION LOAD without REPLACE, sent once.
func newLoad(ctx context.Context, lib *Library) redis.Cmder {
	return &command{Cmd: redis.NewCmd(ctx, "FUNCTION", "LOAD", lib.Code), trust: &trust{}}
}
