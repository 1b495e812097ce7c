package vet

import (
	"math"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// result is one way in which an expression of one value ends.
type result struct {
	s *state
	v value
}

func one(s *state, v value) []result { return []result{{s, v}} }

func parseNumber(s string) (float64, bool) {
	if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return f, true
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return float64(n), true
	}
	return 0, false
}

func numberLiteral(s string) value {
	v := of(isNum)
	if f, ok := parseNumber(s); ok {
		v = of(isInt)
		if f != math.Trunc(f) {
			v = of(isFrac)
		}
	}
	v.literal = &s
	return v
}

// evalList evaluates a list as Lua does: the last expression gives all of its values, the others one each.
func (r *run) evalList(s *state, exprs []ast.Expr) []outcome {
	states := []outcome{{s: s}}
	for i, e := range exprs {
		var next []outcome
		for _, o := range states {
			if i == len(exprs)-1 {
				for _, got := range r.evalMany(o.s, e) {
					next = append(next, outcome{got.s, append(o.vals[:len(o.vals):len(o.vals)], got.vals...)})
				}
				continue
			}
			for _, got := range r.eval(o.s, e) {
				next = append(next, outcome{got.s, append(o.vals[:len(o.vals):len(o.vals)], got.v)})
			}
		}
		states = next
	}
	return states
}

// evalMany gives all values of a call; anything else has one.
func (r *run) evalMany(s *state, e ast.Expr) []outcome {
	if call, ok := e.(*ast.FuncCallExpr); ok {
		out := r.call(s, call)
		if call.AdjustRet {
			for i := range out {
				out[i].vals = []value{valueAt(out[i].vals, 0)}
			}
		}
		return out
	}
	var out []outcome
	for _, got := range r.eval(s, e) {
		out = append(out, outcome{got.s, []value{got.v}})
	}
	return out
}

// eval gives one value.
func (r *run) eval(s *state, e ast.Expr) []result {
	switch e := e.(type) {
	case *ast.TrueExpr:
		return one(s, of(isTrue))
	case *ast.FalseExpr:
		return one(s, of(isFalse))
	case *ast.NilExpr:
		return one(s, of(isNil))
	case *ast.NumberExpr:
		return one(s, numberLiteral(e.Value))
	case *ast.StringExpr:
		return one(s, text(e.Value))
	case *ast.IdentExpr:
		return one(s, r.ident(s, e))
	case *ast.AttrGetExpr:
		return r.attr(s, e)
	case *ast.TableExpr:
		return r.table(s, e)
	case *ast.FuncCallExpr:
		var out []result
		for _, o := range r.call(s, e) {
			out = append(out, result{o.s, valueAt(o.vals, 0)})
		}
		return out
	case *ast.LogicalOpExpr:
		return r.logical(s, e)
	case *ast.RelationalOpExpr:
		return r.binary(s, e.Lhs, e.Rhs, func(st *state, a, b value) value { return r.compare(st, e, a, b) })
	case *ast.ArithmeticOpExpr:
		return r.binary(s, e.Lhs, e.Rhs, func(st *state, a, b value) value { return r.arithmetic(st, e, a, b) })
	case *ast.StringConcatOpExpr:
		return r.binary(s, e.Lhs, e.Rhs, func(st *state, a, b value) value { return r.concat(st, e, a, b) })
	case *ast.UnaryMinusOpExpr:
		return r.unary(s, e.Expr, func(st *state, v value) value { return r.minus(st, e, v) })
	case *ast.UnaryNotOpExpr:
		return r.not(s, e)
	case *ast.UnaryLenOpExpr:
		return r.unary(s, e.Expr, func(st *state, v value) value {
			r.needs(st, v, e.Expr, "take the length of")
			return of(isInt)
		})
	case *ast.FunctionExpr:
		return one(s, r.functionValue(e))
	}
	return one(s, anything()) // ...
}

func (r *run) unary(s *state, e ast.Expr, f func(*state, value) value) []result {
	out := r.eval(s, e)
	for i := range out {
		out[i].v = f(out[i].s, out[i].v)
	}
	return out
}

func (r *run) binary(s *state, lhs, rhs ast.Expr, f func(st *state, a, b value) value) []result {
	var out []result
	for _, a := range r.eval(s, lhs) {
		for _, b := range r.eval(a.s, rhs) {
			out = append(out, result{b.s, f(b.s, a.v, b.v)})
		}
	}
	return out
}

func (r *run) not(s *state, e *ast.UnaryNotOpExpr) []result {
	out := r.eval(s, e.Expr)
	for i, o := range out {
		r.noteTested(e.Expr, o.v)
		v := value{reply: o.v.reply}
		if o.v.may(isFalsy) {
			v.kinds |= isTrue
		}
		if o.v.may(isAny &^ isFalsy) {
			v.kinds |= isFalse
		}
		if o.v.may(isInt | isFrac) {
			v.kinds |= isFalse
		}
		out[i].v = v
	}
	return out
}

// logical splits a path where the left side decides and its test tells something about a variable.
func (r *run) logical(s *state, e *ast.LogicalOpExpr) []result {
	var out []result
	for _, lhs := range r.eval(s, e.Lhs) {
		if e.Operator == "and" {
			r.noteTested(e.Lhs, lhs.v)
		}
		goesOn := e.Operator == "and"
		short := lhs.v.falsy()
		if !goesOn {
			short = lhs.v.truthy()
		}
		mayGoOn := lhs.v.truthy().kinds != 0
		if !goesOn {
			mayGoOn = lhs.v.falsy().kinds != 0
		}
		stop := lhs.s.clone()
		stopOK, stopChanged := r.refine(stop, e.Lhs, !goesOn)
		onOK, onChanged := r.refine(lhs.s, e.Lhs, goesOn)
		stopOK = stopOK && short.kinds != 0
		if !onOK || !mayGoOn {
			if stopOK {
				out = append(out, result{stop, short})
			}
			continue
		}
		rhs := r.eval(lhs.s, e.Rhs)
		if stopOK && !stopChanged && !onChanged && len(rhs) == 1 {
			rhs[0].v = join(rhs[0].v, short)
			out = append(out, rhs...)
			continue
		}
		if stopOK {
			out = append(out, result{stop, short})
		}
		for i := range rhs {
			rhs[i].v.reply = union(rhs[i].v.reply, lhs.v.reply)
		}
		out = append(out, rhs...)
	}
	return out
}

func (r *run) ident(s *state, e *ast.IdentExpr) value {
	v := r.here().refs[e]
	if v == nil {
		return r.global(e)
	}
	if v.top() {
		if val, ok := r.static[v]; ok {
			return val
		}
		return anything()
	}
	if val, ok := s.paths[r.pathOf(e)]; ok {
		return val
	}
	if val, ok := s.env[v]; ok {
		return val
	}
	return anything()
}

func (r *run) global(e *ast.IdentExpr) value {
	if r.here().usesLib(r.c, e.Value) {
		if m, ok := r.modules[e.Value]; ok {
			return m
		}
		return anything()
	}
	if libraryMembers[e.Value] == nil && !baseFunctions[e.Value] {
		return anything()
	}
	if r.loading && e.Value != "redis" {
		r.report(r.at(e), RuleLoadLibrary, "%s does not exist while Redis loads the library: use it inside the function", e.Value)
		return anything()
	}
	if baseFunctions[e.Value] {
		return builtin(e.Value)
	}
	return value{kinds: isTable, fns: []*closure{{builtin: e.Value}}}
}

func (r *run) attr(s *state, e *ast.AttrGetExpr) []result {
	var out []result
	for _, o := range r.eval(s, e.Object) {
		if key, ok := e.Key.(*ast.StringExpr); ok {
			out = append(out, result{o.s, r.field(o.s, e, o.v, key.Value)})
			continue
		}
		for _, k := range r.eval(o.s, e.Key) {
			out = append(out, result{k.s, r.element(k.s, e, o.v, k.v)})
		}
	}
	return out
}

// field is what `table.name` gives.
func (r *run) field(s *state, e *ast.AttrGetExpr, table value, name string) value {
	if v, ok := s.paths[r.pathOf(e)]; ok {
		return v
	}
	if len(table.fns) == 1 && table.fns[0].builtin != "" && table.only(isTable) {
		return r.member(e, table.fns[0].builtin, name)
	}
	r.needs(s, table, e.Object, "look into")
	if table.lenient || table.only(isFalsy) {
		return anything()
	}
	out := value{}
	for _, id := range table.objects {
		o := s.heap[id]
		if o == nil {
			return anything()
		}
		v, ok := o.fields[name]
		if !ok {
			v = of(isNil)
			if o.open {
				v = unknown()
			}
		}
		out = join(out, v)
	}
	if out.kinds == 0 {
		return unknown()
	}
	return out
}

// member is a field of one of Redis's global tables.
func (r *run) member(e *ast.AttrGetExpr, lib, name string) value {
	if r.loading && lib == "redis" {
		switch {
		case name == "log":
			r.report(r.at(e), RuleLoadLog, "redis.log while the library loads aborts Valkey 9.1: log inside the function, or not at all")
		case name == "call" || name == "pcall":
			r.report(r.at(e), RuleLoadCall, "redis.%s does not exist while Redis loads the library: call it inside the function", name)
		}
	}
	if lib == "math" && (name == "huge" || name == "pi") || lib == "redis" && strings.HasPrefix(name, "LOG_") || name == "REDIS_VERSION_NUM" {
		return of(isNum)
	}
	if name == "REDIS_VERSION" {
		return value{kinds: isStr}
	}
	return builtin(lib + "." + name)
}

// element is what `table[key]` gives. A place that is computed is taken to be inside the table.
func (r *run) element(s *state, e *ast.AttrGetExpr, table, key value) value {
	path := r.pathOf(e)
	if v, ok := s.paths[path]; ok && path != "" {
		return v
	}
	r.needs(s, table, e.Object, "look into")
	if table.lenient || table.only(isFalsy) {
		return anything()
	}
	place, fixed := key.number()
	out := value{}
	for _, id := range table.objects {
		o := s.heap[id]
		if o == nil {
			return anything()
		}
		v := value{}
		switch {
		case fixed && place >= 1 && int(place) <= len(o.items):
			v = o.items[int(place)-1]
		case fixed && o.elem == nil && !o.open && len(o.items) > 0:
			v = of(isNil)
		default:
			v = elementOf(o)
			if fixed && int(place) > o.atLeast && !s.facts["#"+r.pathOf(e.Object)] {
				v = join(v, of(isNil))
			}
		}
		out = join(out, v)
	}
	if out.kinds == 0 {
		return unknown()
	}
	return out
}

func elementOf(o *object) value {
	v := value{}
	for _, item := range o.items {
		v = join(v, item)
	}
	if o.elem != nil {
		v = join(v, *o.elem)
	}
	if v.kinds == 0 {
		for _, field := range o.fields { // t[name]
			v = join(v, field)
		}
	}
	if v.kinds == 0 {
		return unknown()
	}
	return v
}

// elements joins what a table's array part may hold.
func (r *run) elements(s *state, table value) value {
	if table.lenient {
		return anything()
	}
	out := value{}
	for _, id := range table.objects {
		if o := s.heap[id]; o != nil {
			out = join(out, elementOf(o))
		}
	}
	if out.kinds == 0 {
		return unknown()
	}
	out.kinds &^= isNil
	return out
}

func (r *run) table(s *state, e *ast.TableExpr) []result {
	states := []outcome{{s: s}}
	for _, f := range e.Fields {
		var next []outcome
		for _, o := range states {
			for _, got := range r.eval(o.s, f.Value) {
				next = append(next, outcome{got.s, append(o.vals[:len(o.vals):len(o.vals)], got.v)})
			}
		}
		states = next
	}
	var out []result
	for _, o := range states {
		obj := &object{fields: map[string]value{}}
		for i, f := range e.Fields {
			switch key := f.Key.(type) {
			case nil:
				obj.items = append(obj.items, o.vals[i])
			case *ast.StringExpr:
				obj.fields[key.Value] = o.vals[i]
				if key.Value == "err" {
					r.errorText(f.Value, o.vals[i])
				}
			default:
				r.append(obj, o.vals[i])
			}
		}
		if n := len(e.Fields); n > 0 && e.Fields[n-1].Key == nil {
			if _, many := e.Fields[n-1].Value.(*ast.FuncCallExpr); many {
				obj.items = nil
				for _, v := range o.vals {
					r.append(obj, v)
				}
			}
		}
		out = append(out, result{o.s, r.newObject(o.s, obj)})
	}
	return out
}
