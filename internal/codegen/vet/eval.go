package vet

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// A result is one possible value of an expression, and its path.
type result struct {
	s *state
	v value
}

func one(s *state, v value) []result { return []result{{s, v}} }

func parseNumber(s string) (float64, bool) {
	if s == "" || s[0]|' ' >= 'a' && s[0]|' ' <= 'z' && !strings.ContainsAny(s[:1], "iInN") {
		return 0, false // most texts, without the cost of an error
	}
	if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return f, true
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return float64(n), true
	}
	return 0, false
}

func numberLiteral(s *string) value {
	v := value{kinds: isNum, literal: s}
	if f, ok := parseNumber(*s); ok {
		v.kinds = isInt
		if f != math.Trunc(f) {
			v.kinds = isFrac
		}
	}
	return v
}

// evalList evaluates a list as Lua does: the last expression yields all of its values, the others one each.
func (r *run) evalList(s *state, exprs []ast.Expr) []outcome {
	if len(exprs) == 1 {
		return fewer(r.evalMany(s, exprs[0]))
	}
	states := []outcome{{s: s, vals: make([]value, 0, len(exprs))}}
	for i, e := range exprs {
		if isPlain(e) {
			for j := range states {
				o := &states[j]
				o.vals = append(o.vals, r.plain(o.s, e))
			}
			continue
		}
		var next []outcome
		for _, o := range states {
			if i == len(exprs)-1 {
				got := r.evalMany(o.s, e)
				for j, g := range got {
					next = append(next, outcome{s: g.s, vals: append(room(o.vals, j == len(got)-1, len(exprs)), g.vals...)})
				}
				continue
			}
			got := r.eval(o.s, e)
			for j, g := range got {
				next = append(next, outcome{s: g.s, vals: append(room(o.vals, j == len(got)-1, len(exprs)), g.v)})
			}
		}
		states = fewer(next)
	}
	return states
}

// room returns values to which a path appends: the same for the last path, and copies for those before.
func room(vals []value, last bool, n int) []value {
	if last {
		return vals
	}
	return append(make([]value, 0, n), vals...)
}

// evalMany returns all values of a call, or the one value of any other expression.
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
	if dots, ok := e.(*ast.Comma3Expr); ok && !dots.AdjustRet {
		return []outcome{{s: s, vals: slices.Clone(r.top().extra)}}
	}
	if isPlain(e) {
		return []outcome{{s: s, vals: []value{r.plain(s, e)}}}
	}
	var out []outcome
	for _, got := range r.eval(s, e) {
		out = append(out, outcome{s: got.s, vals: []value{got.v}})
	}
	return out
}

// eval evaluates an expression to one value.
func (r *run) eval(s *state, e ast.Expr) []result {
	out := r.evalOne(s, e)
	if len(out) <= stateLimit {
		return out
	}
	outcomes := make([]outcome, len(out))
	for i, o := range out {
		outcomes[i] = outcome{s: o.s, vals: []value{o.v}}
	}
	out = nil
	for _, o := range few(outcomes, stateLimit) {
		out = append(out, result{o.s, o.vals[0]})
	}
	return out
}

// isPlain reports whether an expression has one value on a path: it is a literal, a variable, or a field or element below one.
func isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr, *ast.IdentExpr:
		return true
	case *ast.AttrGetExpr:
		return isPlain(e.Object) && isPlain(e.Key)
	}
	return false
}

// plain evaluates a plain expression.
func (r *run) plain(s *state, e ast.Expr) value {
	switch e := e.(type) {
	case *ast.TrueExpr:
		return of(isTrue)
	case *ast.FalseExpr:
		return of(isFalse)
	case *ast.NumberExpr:
		return numberLiteral(&e.Value)
	case *ast.StringExpr:
		return text(&e.Value)
	case *ast.IdentExpr:
		return r.ident(s, e)
	case *ast.AttrGetExpr:
		object := r.plain(s, e.Object)
		if key, ok := e.Key.(*ast.StringExpr); ok {
			return r.field(s, e, object, key.Value)
		}
		return r.element(s, e, object, r.plain(s, e.Key))
	}
	return of(isNil)
}

func (r *run) evalOne(s *state, e ast.Expr) []result {
	r.steps++
	if isPlain(e) {
		return one(s, r.plain(s, e))
	}
	switch e := e.(type) {
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
			return r.length(st, e, v)
		})
	case *ast.FunctionExpr:
		return one(s, r.functionValue(e))
	}
	return one(s, valueAt(r.top().extra, 0)) // ...
}

func (r *run) unary(s *state, e ast.Expr, f func(*state, value) value) []result {
	out := r.eval(s, e)
	for i := range out {
		out[i].v = f(out[i].s, out[i].v)
	}
	return out
}

func (r *run) binary(s *state, lhs, rhs ast.Expr, f func(st *state, a, b value) value) []result {
	if isPlain(lhs) && isPlain(rhs) {
		a := r.plain(s, lhs)
		return one(s, f(s, a, r.plain(s, rhs)))
	}
	if isPlain(rhs) {
		return r.unary(s, lhs, func(st *state, a value) value {
			r.steps++
			return f(st, a, r.plain(st, rhs))
		})
	}
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
		v := value{reply: o.v.reply, proof: o.v.proof.not()}
		v.setOrder(o.v.order().not())
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

// logical evaluates `and` and `or`. It splits the path if the left side can decide and narrows a variable.
func (r *run) logical(s *state, e *ast.LogicalOpExpr) []result {
	cached := r.isCached(s, e)
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
		if !goesOn && isDefault(e) {
			rhs := r.eval(lhs.s, e.Rhs)[0]
			proof := lhs.v.proof.then(goesOn, rhs.v)
			if !mayGoOn {
				rhs.v = short
			} else {
				rhs.v = join(rhs.v, short)
			}
			rhs.v.proof = proof
			out = append(out, rhs)
			continue
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
		split := !stopOK || stopChanged || onChanged || hasDivision(e.Rhs)
		if split {
			r.narrow(stop, e.Lhs, !goesOn)
			r.narrow(lhs.s, e.Lhs, goesOn)
			lhs.v.learn(lhs.s, goesOn)
		}
		rhs := r.eval(lhs.s, e.Rhs)
		if lhs.v.proof != nil {
			for i := range rhs {
				rhs[i].v.proof = lhs.v.proof.then(goesOn, rhs[i].v)
			}
		}
		if !split && len(rhs) == 1 {
			proof := rhs[0].v.proof
			if lhs.v.proof == nil {
				proof = proof.joined(goesOn)
			}
			order := lhs.v.order().then(goesOn, rhs[0].v.order())
			span := rhs[0].v.span()
			rhs[0].v = join(rhs[0].v, short)
			rhs[0].v.proof = proof
			rhs[0].v.setOrder(order)
			if cached {
				rhs[0].v.setSpan(span)
			}
			out = append(out, rhs...)
			continue
		}
		if stopOK {
			lhs.v.learn(stop, !goesOn)
			out = append(out, result{stop, short})
		}
		for i := range rhs {
			rhs[i].v.reply = union(rhs[i].v.reply, lhs.v.reply)
		}
		out = append(out, rhs...)
	}
	return out
}

// isDefault reports whether an `or` gives a field a simple default: whether the field was set is rarely asked again.
func isDefault(e *ast.LogicalOpExpr) bool {
	if _, field := e.Lhs.(*ast.AttrGetExpr); !field {
		return false
	}
	switch e.Rhs.(type) {
	case *ast.NumberExpr, *ast.StringExpr, *ast.IdentExpr:
		return true
	}
	return false
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
	if val, ok := s.paths.get(v.mark); ok {
		return *val
	}
	if val, ok := s.env.get(v.id); ok {
		return *val
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
		return value{kinds: isFunc, rare: provided[e.Value]}
	}
	return value{kinds: isTable, rare: provided[e.Value]}
}
