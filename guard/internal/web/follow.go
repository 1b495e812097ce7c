package web

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Followed holds the rules that an adapter compiled from the guard's policy. It is safe for concurrent use.
type Followed[R io.Closer] struct {
	guard   *guard.Guard
	compile func(*policy.Policy) (R, error)
	current atomic.Pointer[compiled[R]]
	change  sync.Mutex
	checked *compiled[R] // the last policy that compiled, until it is current
}

type compiled[R io.Closer] struct {
	policy *policy.Policy
	rules  R
}

// Follow compiles the guard's policy, and requires of each further one that it compiles.
func Follow[R io.Closer](g *guard.Guard, compile func(*policy.Policy) (R, error)) (*Followed[R], error) {
	if g == nil {
		return nil, errors.New("guard must not be nil")
	}
	f := &Followed[R]{guard: g, compile: compile}
	p := g.Policy()
	rules, err := compile(p)
	if err != nil {
		return nil, err
	}
	f.current.Store(&compiled[R]{p, rules})
	g.Require(f.check)
	g.AtClose(f.close)
	return f, nil
}

// close closes the rules. Requests in progress keep reading with their last keys.
func (f *Followed[R]) close() {
	f.change.Lock()
	defer f.change.Unlock()
	_ = f.current.Load().rules.Close()
	if f.checked != nil {
		_ = f.checked.rules.Close()
	}
}

// check compiles a policy that the guard is about to accept. Current uses the result, so a file that vanishes meanwhile does not matter.
func (f *Followed[R]) check(p *policy.Policy) error {
	rules, err := f.compile(p)
	if err != nil {
		return err
	}
	f.change.Lock()
	defer f.change.Unlock()
	if f.checked != nil {
		_ = f.checked.rules.Close()
	}
	f.checked = &compiled[R]{p, rules}
	return nil
}

// Current returns the rules of the guard's policy. It closes those of the previous policy; requests in progress keep reading with its last
// keys.
func (f *Followed[R]) Current() R {
	if c := f.current.Load(); c.policy == f.guard.Policy() {
		return c.rules
	}
	f.change.Lock()
	defer f.change.Unlock()
	had, p := f.current.Load(), f.guard.Policy()
	if had.policy == p {
		return had.rules
	}
	next := f.checked
	if next != nil && next.policy == p {
		f.checked = nil
	} else { // the guard's next policy was checked meanwhile
		rules, err := f.compile(p)
		if err != nil {
			return had.rules
		}
		next = &compiled[R]{p, rules}
	}
	f.current.Store(next)
	go had.rules.Close()
	return next.rules
}
