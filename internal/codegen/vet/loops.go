package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// A loop is a Lua loop of any kind.
type loop struct {
	stmt      ast.Stmt
	condition ast.Expr // nil in a for
	atEnd     bool     // the condition is at the end, and ends the loop if it holds
	once      bool     // it runs at least once
	unbounded bool     // how often it runs depends on data
	begin     func(s *state) []*state
	body      []ast.Stmt
}

// loop follows zero, one and two turns of a loop.
func (r *run) loop(s *state, l loop) flow {
	out := flow{}
	r.ends(s, l)
	r.loops++
	defer func() { r.loops-- }()
	if l.unbounded {
		r.top().unbounded++
		defer func() { r.top().unbounded-- }()
	}
	states := []*state{s}
	var left []*state // paths that completed the last turn
	for turn := range 2 {
		leave := r.enter(l.stmt, turn)
		enter := states
		if l.condition != nil && !l.atEnd {
			enter = nil
			for _, st := range states {
				yes, no := r.condition(st, l.condition)
				enter = append(enter, yes...)
				out.next = append(out.next, no...)
			}
		} else if l.condition == nil && (turn > 0 || !l.once) {
			for _, st := range states {
				out.next = append(out.next, st.clone())
			}
		}
		if l.begin != nil {
			var begun []*state
			for _, st := range enter {
				begun = append(begun, l.begin(st)...)
			}
			enter = begun
		}
		f := r.block(distinct(enter), l.body)
		out.returns = append(out.returns, f.returns...)
		out.next = append(out.next, f.breaks...)
		left = f.next
		if l.atEnd {
			var again []*state
			for _, st := range f.next {
				yes, no := r.condition(st, l.condition)
				out.next = append(out.next, yes...)
				again = append(again, no...)
			}
			left = again
		}
		states = nil
		for _, st := range left {
			states = append(states, st.clone())
		}
		leave()
	}
	defer r.enter(l.stmt, 2)()
	if l.condition == nil {
		out.next = append(out.next, left...)
	} else if !l.atEnd {
		for _, st := range left {
			_, no := r.condition(st.clone(), l.condition)
			out.next = append(out.next, no...)
		}
	}
	if len(out.next) == 0 && !always(l.condition, l.atEnd) { // two turns did not end it: later ones do
		out.next = left
	}
	out.next = distinct(out.next)
	return out
}

func (r *run) numberFor(s *state, stmt *ast.NumberForStmt) flow {
	exprs := []ast.Expr{stmt.Init, stmt.Limit}
	if stmt.Step != nil {
		exprs = append(exprs, stmt.Step)
	}
	out := flow{}
	for _, o := range r.evalList(s, exprs) {
		v := r.here().decls[stmt][0]
		val := of(isInt)
		for i, bound := range o.vals {
			r.needs(o.s, bound, exprs[min(i, len(exprs)-1)], "count with")
			if i != 1 && !bound.only(isInt) {
				val = of(isInt | isNum)
			}
		}
		val.in = forRange(o.vals, r.here().lib != "")
		most := 1.0
		if !r.overTicks(o.s, stmt, o.vals) {
			most = r.turns(stmt, o.vals)
		}
		limit := o.vals[1]
		from, fromOK := o.vals[0].number()
		if fromOK && from >= 1 && stmt.Step == nil && r.surelyEmpty(o.s, stmt.Limit) {
			out.next = append(out.next, o.s)
			continue
		}
		l := loop{stmt: stmt, body: stmt.Stmts, unbounded: limit.content && !limit.lenient}
		l.begin = func(st *state) []*state {
			r.set(st, v, val)
			return []*state{st}
		}
		to := limit.interval()
		l.once = fromOK && stmt.Step == nil && to.known && from <= to.low || fromOK && from == 1 && r.surelyFilled(o.s, stmt.Limit)
		r.fillsInPart(o.s, &l, v)
		var list []stride
		before := o.s
		var tables []*ast.IdentExpr
		if from == 1 && stmt.Step == nil {
			list = r.stridesOf(stmt)
			if r.listsKeys(o.s, stmt.Limit) {
				tables = r.appendsEach(stmt)
			}
			if len(list)+len(tables) > 0 {
				before = o.s.clone()
			}
		}
		f := r.loopFor(o.s, l, most)
		for _, after := range f.next {
			r.strode(before, after, list, to)
			r.counts(before, after, stmt.Limit, tables)
		}
		out.next = append(out.next, f.next...)
		out.returns = append(out.returns, f.returns...)
	}
	return out
}

// forRange returns the range of a for's variable.
func forRange(vals []value, related bool) interval {
	from, to, step := vals[0].interval(), vals[1].interval(), between(1, 1)
	if len(vals) > 2 {
		step = vals[2].interval()
	}
	if !from.known || !step.known || step.low <= 0 && step.high >= 0 {
		return interval{}
	}
	if !to.known {
		to = between(math.Inf(-1), math.Inf(1))
	}
	out := between(from.low, max(from.low, to.high))
	if step.high < 0 {
		out = between(min(from.high, to.low), from.high)
	}
	out.related = related || from.related || to.related
	out.told = (from.told || vals[0].literal != nil) && (to.told || vals[1].literal != nil)
	out.sure = from.sure & to.sure
	return out
}

// surelyFilled reports whether an expression is the length of a table that has an element.
func (r *run) surelyFilled(s *state, e ast.Expr) bool {
	length, ok := e.(*ast.UnaryLenOpExpr)
	if !ok {
		return false
	}
	v, ok := r.peek(s, length)
	if ok && v.in.told && v.in.low >= 1 {
		return true
	}
	v, ok = r.peek(s, length.Expr)
	return ok && filled(s, v)
}

// surelyEmpty reports whether an expression is the length of an empty table.
func (r *run) surelyEmpty(s *state, e ast.Expr) bool {
	length, ok := e.(*ast.UnaryLenOpExpr)
	if !ok {
		return false
	}
	v, ok := r.peek(s, length.Expr)
	return ok && empty(s, v)
}

func empty(s *state, v value) bool {
	for _, id := range v.objects {
		if o := s.get(id); o == nil || o.open || o.elem != nil || len(o.items) > 0 || o.size.least > 0 {
			return false
		}
	}
	return len(v.objects) > 0 && v.only(isTable) && !v.lenient
}

func filled(s *state, v value) bool {
	for _, id := range v.objects {
		o := s.get(id)
		if o == nil || o.size.least == 0 && len(o.items) == 0 {
			return false
		}
	}
	return len(v.objects) > 0
}

func (r *run) genericFor(s *state, stmt *ast.GenericForStmt) flow {
	out := flow{}
	vars := r.here().decls[stmt]
	iterator, over := iteration(stmt)
	exprs := stmt.Exprs
	if over != nil && r.isGlobal(iterator) {
		exprs = []ast.Expr{over}
	}
	for _, o := range r.evalList(s, exprs) {
		if iterator != nil && iterator.Value == "ipairs" && r.isGlobal(iterator) && empty(o.s, o.vals[0]) {
			out.next = append(out.next, o.s)
			continue
		}
		l := loop{stmt: stmt, body: stmt.Stmts}
		key, elem := anything(), anything()
		if over != nil && r.isGlobal(iterator) {
			r.needs(o.s, o.vals[0], over, "loop over")
			if iterator.Value == "ipairs" {
				key = of(isInt)
				elem = r.elements(o.s, o.vals[0])
			}
			l.once = filled(o.s, o.vals[0])
		} else if r.isGmatch(stmt) {
			key, elem = value{kinds: isStr, taint: fromCaller | fromStore}, value{kinds: isStr | isNil, taint: fromCaller | fromStore}
		}
		l.begin = func(st *state) []*state {
			for i, v := range vars {
				switch i {
				case 0:
					r.set(st, v, key)
				case 1:
					r.set(st, v, elem)
				default:
					r.set(st, v, of(isNil))
				}
			}
			return []*state{st}
		}
		if o.vals[0].only(isFunc) && len(o.vals[0].fns()) > 0 && o.vals[0].fns()[0].fn != nil {
			l.begin = r.iterate(stmt, o.vals)
		}
		if len(vars) > 0 && iterator != nil && iterator.Value == "ipairs" {
			r.fillsInPart(o.s, &l, vars[0])
		}
		turns := 1.0
		if in := lengths(o.s, o.vals[0]); over != nil && in.known && in.high >= 1 && !math.IsInf(in.high, 1) {
			turns = in.high
		}
		f := r.loopFor(o.s, l, turns)
		out.next = append(out.next, f.next...)
		out.returns = append(out.returns, f.returns...)
	}
	return out
}

// iteration returns the table of `ipairs(t)` or `pairs(t)`.
func iteration(stmt *ast.GenericForStmt) (*ast.IdentExpr, ast.Expr) {
	if len(stmt.Exprs) != 1 {
		return nil, nil
	}
	call, ok := stmt.Exprs[0].(*ast.FuncCallExpr)
	if !ok || len(call.Args) != 1 {
		return nil, nil
	}
	id, ok := call.Func.(*ast.IdentExpr)
	if !ok || id.Value != "ipairs" && id.Value != "pairs" {
		return nil, nil
	}
	return id, call.Args[0]
}

func (r *run) isGmatch(stmt *ast.GenericForStmt) bool {
	call, ok := stmt.Exprs[0].(*ast.FuncCallExpr)
	if !ok {
		return false
	}
	return call.Method == "gmatch" || call.Func != nil && exprText(call.Func) == "string.gmatch"
}

func (r *run) isGlobal(id *ast.IdentExpr) bool {
	return id != nil && r.here().refs[id] == nil
}
