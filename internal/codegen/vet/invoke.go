package vet

import "github.com/yuin/gopher-lua/ast"

// invoke runs a function and returns its outcomes.
func (r *run) invoke(s *state, c *closure, args []value, call ast.Expr, passed passed) []outcome {
	fn := c.fn
	again := fn != nil && r.running(fn)
	if again {
		if later, ends := r.descends(fn, call, args); !ends {
			r.recursion(fn, call)
		} else if r.turnsOf(fn) > 1 {
			return nil // as a loop, it is followed for two turns
		} else {
			args, again = later, false
		}
	}
	if fn == nil || fn.expr == nil || len(r.frames) > depthLimit || again || r.steps > stepLimit {
		return r.lost(s, args, fn.results())
	}
	defer r.enter(call, 0)()
	if len(r.frames) > 0 && !r.loading {
		return r.framed(s, c, args, call, passed)
	}
	return r.follow(s, c, args, call, passed)
}

// follow runs the statements of a function.
func (r *run) follow(s *state, c *closure, args []value, call ast.Expr, passed passed) []outcome {
	fn := c.fn
	fn.entered = true
	for i, p := range fn.params {
		val := of(isNil)
		if i < len(args) {
			val = args[i]
		}
		s.forget(p)
		s.own(env).env.set(p.id, &val)
	}
	frame := &frame{fn: fn, call: call, passed: passed, loaded: c.loaded}
	if fn.expr.ParList != nil && fn.expr.ParList.HasVargs && len(args) > len(fn.params) {
		frame.extra = args[len(fn.params):]
	}
	r.frames = append(r.frames, frame)
	out := r.block([]*state{s}, fn.expr.Stmts)
	if len(r.frames) == 1 && r.spec != nil && len(out.next) > 0 && r.steps <= stepLimit {
		r.fallsOff(fn)
	}
	r.frames = r.frames[:len(r.frames)-1]
	for _, end := range out.next {
		out.returns = append(out.returns, outcome{s: end})
	}
	return r.leave(fn, out.returns)
}

func (r *run) running(fn *function) bool {
	for _, f := range r.frames {
		if f.fn == fn {
			return true
		}
	}
	return false
}

// leave drops a function's locals and joins outcomes that become equal.
func (r *run) leave(fn *function, outcomes []outcome) []outcome {
	for _, o := range outcomes {
		if r.loading {
			r.keep(o.s, fn)
			continue
		}
		r.escapes(o, fn)
	}
	return few(outcomes, outcomeLimit)
}

// keep marks what a function that runs while the library is loaded leaves to the functions inside it.
func (r *run) keep(s *state, fn *function) {
	for _, v := range fn.vars {
		if val, ok := s.env.get(v.id); ok && v.captured {
			own(s, *val, v.name)
		}
	}
}

func valueAt(vals []value, i int) value {
	if i < len(vals) {
		return vals[i]
	}
	return of(isNil)
}
