package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A catcher collects the paths on which an error ends a function.
type catcher struct {
	states []*state
	caught bool // by a pcall: then every redis.call may fail
}

// thrown records that an error ends a path here.
func (r *run) thrown(s *state) {
	if len(r.catchers) == 0 || r.loading {
		return
	}
	c := r.catchers[len(r.catchers)-1]
	ended := s.clone()
	ended.apart = true // one of the writes may be the last
	c.states = distinct(append(c.states, ended))
}

// catching runs f, and returns the paths that ended in an error.
func (r *run) catching(caught bool, f func()) []*state {
	c := &catcher{caught: caught || r.caught()}
	r.catchers = append(r.catchers, c)
	f()
	r.catchers = r.catchers[:len(r.catchers)-1]
	return c.states
}

// caught reports whether a pcall is open.
func (r *run) caught() bool {
	return len(r.catchers) > 0 && r.catchers[len(r.catchers)-1].caught
}

// protected runs pcall, whose function may stop at its first statement, at each redis.call, and where it raises an error.
func (r *run) protected(s *state, e *ast.FuncCallExpr, args []value) []outcome {
	if len(args) == 0 {
		return gives(s, of(isFalse), anything())
	}
	var out []outcome
	failed := s.clone()
	thrown := r.catching(true, func() {
		for _, o := range r.apply(s, e, args[0], args[1:]) {
			out = append(out, outcome{s: o.s, vals: append([]value{of(isTrue)}, o.vals...)})
		}
	})
	for _, st := range distinct(append(thrown, failed)) {
		st.apart = failed.apart
		out = append(out, outcome{s: st, vals: []value{of(isFalse), anything()}})
	}
	return fewer(out)
}

// and returns the writes of two paths that have been joined: those that both have. The print keeps paths apart by them, so only too many
// paths are joined.
func (w writes) and(other writes) writes {
	if other.first == nil {
		w.first = nil
	}
	w.stays = w.stays && other.stays
	w.over = w.over && other.over
	w.charged = w.charged.and(other.charged)
	w.aged = w.aged || other.aged
	if w.removed == nil {
		w.removed = other.removed
	}
	return w
}

// then returns the writes of a path behind a call.
func (w writes) then(other writes) writes {
	if w.first == nil {
		w.first = other.first
	}
	w.stays = w.stays || other.stays
	w.over = w.over || other.over
	w.charged = w.charged.then(other.charged)
	if w.removed == nil && !w.aged {
		w.removed = other.removed
	}
	w.aged = w.aged || other.aged
	return w
}

// keptApart adds the writes to a hash, which keeps paths of the public function apart by them, and those that an error ends. In the functions
// that it calls, this would take half as long again.
func (s *state) keptApart(h print) print {
	if !s.apart {
		return h
	}
	return h.flag(s.first != nil).flag(s.stays).flag(s.over).flag(s.removed != nil)
}

// wrote records a write that a refusal must not follow.
func (s *state) wrote(at site) {
	if s.first == nil {
		s.first = &at
	}
}

// changes are the commands that change a key whatever it holds. Others may find nothing to do, and their reply tells: SETNX, HDEL, SADD.
var changes = set("SET SETEX PSETEX MSET APPEND SETRANGE INCR INCRBY INCRBYFLOAT HSET HMSET HINCRBY HINCRBYFLOAT LPUSH RPUSH LSET ZADD ZINCRBY XADD")

// takesBack reports whether a command takes from a number, perhaps what the call has added before.
func takesBack(name string, args []value) bool {
	at, ok := map[string]int{"INCRBY": 1, "INCRBYFLOAT": 1, "HINCRBY": 2, "HINCRBYFLOAT": 2, "ZINCRBY": 1}[name]
	v := valueAt(args, at)
	in := v.interval()
	return name == "DECR" || name == "DECRBY" || ok && in.known && in.high <= 0
}

// refused reports a refusal behind a write.
func (r *run) refused(s *state, at site, what string) {
	write := s.unsaid()
	if write == nil || !r.reportOnce(at, RuleRefusalWrites) {
		return
	}
	r.report(at, RuleRefusalWrites, "%s follows a write in line %d of %s, which stays: decide before the first write, or say why with `-- rlfunc:ignore %s reason`", what, write.at.line, write.file.src.Path, RuleRefusalWrites)
}

// mayFail reports whether a command calculates with a key that may hold anything, while another key waits for its expiry.
func (r *run) mayFail(s *state, cmd *command, args []value, keys []int) bool {
	switch cmd.name {
	case "INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY", "HINCRBY", "HINCRBYFLOAT":
	default:
		return false
	}
	if len(keys) == 0 || args[keys[0]].lenient {
		return false
	}
	own := args[keys[0]].keys()
	for _, key := range own {
		if t := s.ttl.at(key); t.settled || len(t.pending) > 0 || r.read[key] {
			return false
		}
	}
	for _, key := range s.ttl {
		if len(key.v.pending) > 0 && !r.lasts(key.name) && !slices.Contains(own, key.name) {
			return true
		}
	}
	return false
}
