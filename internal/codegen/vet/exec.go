package vet

import (
	"fmt"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// An outcome is one possible end of a call or of a list of expressions.
type outcome struct {
	s     *state
	vals  []value
	below *shown
}

// A flow holds the paths out of a block: those that continue after it, that return, and that break.
type flow struct {
	next    []*state
	returns []outcome
	breaks  []*state
}

func (r *run) block(states []*state, stmts []ast.Stmt) flow {
	out := flow{next: states}
	for _, stmt := range stmts {
		states := out.next
		var next []*state
		for _, s := range states {
			if r.steps += 1 + len(s.env)/8 + len(s.heap)/32; r.steps > stepLimit {
				return out
			}
			f := r.stmt(s, stmt)
			for _, v := range r.here().over[stmt] {
				for _, st := range f.next {
					r.keepShown(st, v)
					st.drop(v)
					st.forget(v)
				}
			}
			if len(states) == 1 {
				next = f.next
			} else {
				next = append(next, f.next...)
			}
			out.returns = append(out.returns, f.returns...)
			out.breaks = append(out.breaks, f.breaks...)
		}
		out.next = distinct(next)
	}
	return out
}

func (r *run) stmt(s *state, stmt ast.Stmt) flow {
	switch stmt := stmt.(type) {
	case *ast.LocalAssignStmt:
		return r.local(s, stmt)
	case *ast.AssignStmt:
		return r.assign(s, stmt)
	case *ast.FuncCallStmt:
		r.unused = stmt.Expr
		return only(r.evalMany(s, stmt.Expr))
	case *ast.DoBlockStmt:
		return r.block([]*state{s}, stmt.Stmts)
	case *ast.IfStmt:
		return r.ifStmt(s, stmt)
	case *ast.WhileStmt:
		return r.loop(s, loop{stmt: stmt, condition: stmt.Condition, body: stmt.Stmts, unbounded: true})
	case *ast.RepeatStmt:
		return r.loop(s, loop{stmt: stmt, condition: stmt.Condition, body: stmt.Stmts, unbounded: true, atEnd: true, once: true})
	case *ast.NumberForStmt:
		return r.numberFor(s, stmt)
	case *ast.GenericForStmt:
		return r.genericFor(s, stmt)
	case *ast.FuncDefStmt:
		return r.define(s, stmt)
	case *ast.ReturnStmt:
		return r.returnStmt(s, stmt)
	case *ast.BreakStmt:
		return flow{breaks: []*state{s}}
	}
	return flow{next: []*state{s}}
}

func only(outcomes []outcome) flow {
	out := flow{}
	for _, o := range outcomes {
		out.next = append(out.next, o.s)
	}
	return out
}

func (r *run) set(s *state, v *variable, val value) {
	s.forget(v)
	if val.may(isFalsy) {
		r.emptied[v] = true
	}
	if f := r.top(); f.loaded && !r.loading && slices.Contains(f.fn.outside, v) && !r.running(v.owner) {
		r.report(f.site(), RuleLibraryState, "%s sets %s, which belongs to the library and not to this call: it keeps its value on this node and is not replicated; use a local, or a key", f.fn.name, v.name)
	}
	if v.top() {
		r.static[v] = val
		r.rewritten++
		return
	}
	s.own(env).env.set(v.id, &val)
}

func (r *run) local(s *state, stmt *ast.LocalAssignStmt) flow {
	vars := r.here().decls[stmt]
	if len(stmt.Exprs) == 1 && len(vars) == 1 {
		if _, ok := stmt.Exprs[0].(*ast.FunctionExpr); ok { // a recursive function sees itself
			r.set(s, vars[0], r.functionValue(stmt.Exprs[0].(*ast.FunctionExpr)))
			return flow{next: []*state{s}}
		}
	}
	out := flow{}
	for _, o := range r.evalList(s, stmt.Exprs) {
		for i, v := range vars {
			val := of(isNil)
			if i < len(o.vals) {
				val = o.vals[i]
			}
			r.set(o.s, v, val)
			if v.top() {
				own(o.s, val, v.name)
			}
			o.adopt(i, v)
		}
		if len(vars) == 1 && len(stmt.Exprs) == 1 {
			r.noteRemainder(o.s, vars[0], stmt.Exprs[0])
		}
		out.next = append(out.next, o.s)
	}
	return out
}

// noteRemainder records that a variable is `a % b`, so if it is 0, b divides a, and b is greater.
func (r *run) noteRemainder(s *state, v *variable, e ast.Expr) {
	if whole := r.dividesBy(e); whole != nil {
		s.note(v.mark + "<" + whole.mark)
	}
	if text := r.remainder(e); text != "" {
		s.note(fmt.Sprintf("<%d>=%s", v.id, text))
	}
}

func (r *run) assign(s *state, stmt *ast.AssignStmt) flow {
	out := flow{}
	for _, o := range r.evalList(s, stmt.Rhs) {
		if len(stmt.Lhs) == 1 {
			out.next = r.store(out.next, o.s, stmt.Lhs[0], stmt.Rhs[0], valueAt(o.vals, 0))
			o.adopt(0, r.here().named(stmt.Lhs[0]))
			continue
		}
		states := []*state{o.s}
		for i, lhs := range stmt.Lhs {
			var next []*state
			for _, st := range states {
				next = r.store(next, st, lhs, stmt.Rhs[min(i, len(stmt.Rhs)-1)], valueAt(o.vals, i))
			}
			states = next
		}
		out.next = append(out.next, states...)
	}
	return out
}

// store writes the value of an expression to a variable, or to a field or element of a table, and appends the paths behind that.
func (r *run) store(to []*state, s *state, lhs, rhs ast.Expr, val value) []*state {
	switch lhs := lhs.(type) {
	case *ast.IdentExpr:
		if v := r.here().refs[lhs]; v != nil {
			r.set(s, v, val)
		}
	case *ast.AttrGetExpr:
		for _, o := range r.evalList(s, []ast.Expr{lhs.Object, lhs.Key}) {
			r.storeField(o.s, lhs, rhs, o.vals[0], o.vals[1], val)
			to = append(to, o.s)
		}
		return to
	}
	return append(to, s)
}

func (r *run) storeField(s *state, lhs *ast.AttrGetExpr, rhs ast.Expr, table, key, val value) {
	name, byName := lhs.Key.(*ast.StringExpr)
	own := len(table.objects) > 0 && table.json == 0 && !table.lenient
	if byName {
		s.forgetField(name.Value, own)
	} else {
		s.forgetField("", own)
	}
	place, fixed := key.number()
	if !byName || len(table.objects) != 1 || r.here().lib != "" {
		val.in.ends = 0 // comparisons of elements are not followed
	}
	for _, id := range table.objects {
		before, o := s.get(id), s.object(id)
		r.steps += len(o.fields) / 8
		r.written(o, lhs, lhs.Object)
		if !fixed && o.within(key) {
			o.replaceOne(key.in, val)
			continue
		}
		if !byName {
			o.hold(key)
			o.fill(int(place), fixed, val)
			o.holed = o.holed || !fixed && mayBeHole(lhs, rhs, val)
			r.fills(o, lhs.Key)
		}
		if !byName && !key.only(isBool) && !(key.only(isStr) && key.literal != nil && !fixed) {
			size := o.size.set(lhs, int(place), fixed, val)
			if len(table.objects) > 1 {
				size = size.or(o.size)
			}
			o.size = size
		}
		switch {
		case fixed && len(table.objects) == 1 && place >= 1 && int(place) <= len(o.items):
			o.items = slices.Clone(o.items)
			o.items[int(place)-1] = val
		case byName && len(table.objects) == 1:
			o.setField(name.Value, val)
		case byName:
			old, _ := o.field(name.Value)
			o.setField(name.Value, join(old, val))
		case key.only(isStr) && key.literal != nil:
			o.setField(*key.literal, val)
		case key.only(isTrue) || key.only(isFalse):
			o.setField(key.fieldNames()[0], val)
		case len(table.objects) == 1 && (appends(lhs) || fixed && int(place) == len(o.items)+1):
			r.push(o, r.appendedTo(before, lhs, fixed), val)
		default:
			r.append(o, val)
		}
	}
}

// fill notes whether a write to an element leaves an element before it nil.
func (o *object) fill(place int, fixed bool, val value) {
	last := max(len(o.items), o.filled)
	switch {
	case o.filled < 0 || o.open || o.size.least > 0 && !o.size.known || o.size.most > 0:
	case !fixed:
		o.filled = -1
	case val.only(isNil):
		o.holed = o.holed || place < last
	case val.may(isNil) && !val.vague() && place == last+1:
		// the element may be missing: one behind it leaves a hole
	default:
		o.holed = o.holed || place > last+1
		o.filled = max(last, place)
	}
}

// append joins a value with the elements of a table's array part.
func (r *run) append(o *object, val value) {
	val.kinds &^= isNil
	if val.kinds == 0 {
		return
	}
	if o.elem != nil {
		val = join(*o.elem, val)
	}
	for _, item := range o.items {
		if item.kinds &^= isNil; item.kinds != 0 {
			val = join(val, item)
		}
	}
	o.elem = &val
	o.items = nil
}

func (r *run) define(s *state, stmt *ast.FuncDefStmt) flow {
	fn := r.functionValue(stmt.Func)
	if stmt.Name.Func != nil {
		return flow{next: r.store(nil, s, stmt.Name.Func, stmt.Func, fn)}
	}
	out := flow{}
	for _, o := range r.evalList(s, []ast.Expr{stmt.Name.Receiver}) {
		for _, id := range o.vals[0].objects {
			o.s.object(id).setField(stmt.Name.Method, fn)
		}
		out.next = append(out.next, o.s)
	}
	return out
}

func (r *run) functionValue(e *ast.FunctionExpr) value {
	return value{kinds: isFunc, rare: &rare{fns: []*closure{{fn: r.here().byExpr[e], loaded: r.loading}}}}
}

func (r *run) ifStmt(s *state, stmt *ast.IfStmt) flow {
	out := flow{}
	yes, no := r.condition(s, stmt.Condition)
	then := r.block(yes, stmt.Then)
	otherwise := r.block(no, stmt.Else)
	out.next = distinct(append(then.next, otherwise.next...))
	out.returns = append(then.returns, otherwise.returns...)
	out.breaks = append(then.breaks, otherwise.breaks...)
	return out
}

func (r *run) returnStmt(s *state, stmt *ast.ReturnStmt) flow {
	out := flow{}
	if r.testsBelow(s, stmt) {
		return r.returnTest(s, stmt)
	}
	for _, o := range r.evalList(s, stmt.Exprs) {
		if len(r.frames) == 1 && r.spec != nil && !r.loading {
			r.checkReturn(o.s, stmt, o.vals)
			r.noteReturn(o.s, r.at(stmt))
		}
		if len(r.frames) > 1 && !r.loading {
			o.below = o.below.plus(r.shownBelow(o.s, stmt))
		}
		out.returns = append(out.returns, o)
	}
	return out
}
