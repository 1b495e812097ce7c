package vet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// pathOf names a field or element of a local in env.paths, or gives "".
func (f *file) pathOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if v := f.refs[e]; v != nil {
			return f.pathOfVariable(v)
		}
	case *ast.AttrGetExpr:
		object := f.pathOf(e.Object)
		if object == "" {
			return ""
		}
		switch key := e.Key.(type) {
		case *ast.StringExpr:
			return object + "." + key.Value
		case *ast.NumberExpr:
			return object + "[" + key.Value + "]"
		case *ast.IdentExpr:
			if v := f.refs[key]; v != nil {
				return object + "[" + v.mark + "]"
			}
		}
	}
	return ""
}

func (f *file) pathOfVariable(v *variable) string { return v.mark }

// forget drops what is known of a variable's fields and elements.
func (w *pass) forget(v *variable) {
	for path := range w.env.paths {
		if strings.Contains(path, v.mark) {
			delete(w.env.paths, path)
		}
	}
}

// forgetField drops what is known of a field of any table, or of every element.
func (w *pass) forgetField(name string, plain bool) {
	for path := range w.env.paths {
		if plain && strings.Contains(path+".", "."+name+".") || !plain && strings.Contains(path, "[") {
			delete(w.env.paths, path)
		}
	}
}

// forgetCalled drops what a call of an author's function may change.
func (w *pass) forgetCalled(e *ast.FuncCallExpr) {
	if e.Func != nil && w.file.provided(e.Func) && !slices.Contains([]string{"table.insert", "table.remove", "table.sort", "pcall", "xpcall"}, exprText(e.Func)) {
		return
	}
	for path := range w.env.paths {
		fields := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' })
		if slices.ContainsFunc(fields[1:], func(f string) bool { return w.written[f] || strings.HasSuffix(f, "]") }) {
			delete(w.env.paths, path)
		}
	}
}

// narrow keeps the types of an expression for which a condition holds.
func (w *pass) narrow(e ast.Expr, change func(value) value) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		v := w.file.refs[e]
		if v == nil {
			return
		}
		old := w.variable(v)
		now := change(old)
		if now.kinds == 0 && old.kinds != 0 {
			w.env.dead = true
			return
		}
		if v.shared {
			return
		}
		w.env.vars[v] = &now
		w.together(v, now)
	case *ast.AttrGetExpr:
		path := w.file.pathOf(e)
		if path == "" {
			return
		}
		old := w.at(e)
		now := change(old)
		if now.kinds == 0 && old.kinds != 0 {
			w.env.dead = true
			return
		}
		w.env.paths[path] = now
	}
}

// together narrows the variables that a call has set with one that is now surely true, or surely not.
func (w *pass) together(guard *variable, now value) {
	for _, b := range slices.Clone(w.env.bonds) {
		if b.guard != guard || now.may(falsy) && now.kinds&^falsy != 0 {
			continue
		}
		vals := b.truthy
		if now.may(falsy) {
			vals = b.not
		}
		for i, v := range b.vars {
			if val := vals[i]; v != guard && val.kinds != 0 {
				w.named(v, &val)
				if kept := val.kinds & w.variable(v).kinds; kept != 0 {
					val = val.without(^kept)
				}
				w.env.vars[v] = &val
			}
		}
	}
}

func truthy(v value) value { return v.without(falsy) }

func untrue(v value) value {
	switch {
	case v.may(isOther):
		v.kinds |= isNil | isFalse
	case v.traits&loose != 0:
		v.kinds |= isNil
	}
	return v.without(^falsy)
}

// refine narrows what is known to where a condition is true, or false.
func (w *pass) refine(e ast.Expr, holds bool) {
	if w.env.dead {
		return
	}
	switch e := e.(type) {
	case *ast.TrueExpr, *ast.StringExpr, *ast.NumberExpr, *ast.TableExpr:
		w.env.dead = w.env.dead || !holds
	case *ast.FalseExpr, *ast.NilExpr:
		w.env.dead = w.env.dead || holds
	case *ast.IdentExpr, *ast.AttrGetExpr:
		change := untrue
		if holds {
			change = truthy
		}
		w.narrow(e, change)
		if v := w.file.named(e); v != nil && w.heldCondition(v) {
			w.refine(v.init, holds)
		}
	case *ast.UnaryNotOpExpr:
		w.refine(e.Expr, !holds)
	case *ast.LogicalOpExpr:
		if (e.Operator == "and") == holds {
			w.refine(e.Lhs, holds)
			w.refine(e.Rhs, holds)
			return
		}
		other := w.env.clone()
		w.refine(e.Lhs, holds)
		first := w.env
		w.env = other
		w.refine(e.Lhs, !holds)
		w.refine(e.Rhs, holds)
		w.env = merge(first, w.env)
	case *ast.RelationalOpExpr:
		w.compare(e, holds)
	}
}

// heldCondition reports whether a local holds a condition whose variables nothing assigns.
func (w *pass) heldCondition(v *variable) bool {
	if v.assigned > 0 || v.init == nil || v.owner != w.fn && v.owner != w.fn.parent {
		return false
	}
	switch v.init.(type) {
	case *ast.RelationalOpExpr, *ast.LogicalOpExpr, *ast.UnaryNotOpExpr:
	default:
		return false
	}
	stable := true
	w.file.visit(w.fn, v.init, func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.IdentExpr:
			if in := w.file.refs[node]; in != nil && in.assigned > 0 {
				stable = false
			}
		case *ast.AttrGetExpr:
			if key, ok := node.Key.(*ast.StringExpr); !ok || w.written[key.Value] {
				stable = false
			}
		}
	})
	return stable
}

var typeNames = map[string]kinds{"nil": isNil | isDoubt, "boolean": isBool | isDoubt, "number": isNumber, "string": isString, "table": isTable, "function": isFunc}

// longer notes what a comparison of a length with a number says of the first elements.
func (w *pass) longer(e *ast.RelationalOpExpr, holds bool) {
	length, ok := e.Lhs.(*ast.UnaryLenOpExpr)
	literal, numeral := e.Rhs.(*ast.NumberExpr)
	if !ok || !numeral {
		return
	}
	n, _ := number(literal.Value)
	least := -1.0
	switch {
	case e.Operator == ">" && holds, e.Operator == "<=" && !holds:
		least = n + 1
	case e.Operator == ">=" && holds, e.Operator == "<" && !holds, (e.Operator == "==") == holds && (e.Operator == "==" || e.Operator == "~="):
		least = n
	case n == 0 && (e.Operator == "==" || e.Operator == "~="):
		least = 1
	}
	path := w.file.pathOf(length.Expr)
	if path == "" {
		return
	}
	for i := 1; i <= int(min(least, 8)); i++ {
		key := value{kinds: isNumber, texts: []string{strconv.Itoa(i)}}
		var elem value
		for _, o := range w.one(length.Expr).objs {
			elem = join(elem, o.index(key, true))
		}
		if elem.kinds != 0 {
			w.env.paths[path+"["+strconv.Itoa(i)+"]"] = elem.without(isNil | isDoubt)
		}
	}
}

func (w *pass) compare(e *ast.RelationalOpExpr, holds bool) {
	w.longer(e, holds)
	if e.Operator != "==" && e.Operator != "~=" {
		return
	}
	equal := (e.Operator == "==") == holds
	for _, sides := range [][2]ast.Expr{{e.Lhs, e.Rhs}, {e.Rhs, e.Lhs}} {
		x, other := sides[0], sides[1]
		if call, ok := x.(*ast.FuncCallExpr); ok {
			name, literal := other.(*ast.StringExpr)
			if literal && call.Func != nil && len(call.Args) == 1 && exprText(call.Func) == "type" && w.file.provided(call.Func) {
				w.narrow(call.Args[0], func(v value) value { return keep(v, typeNames[name.Value], equal) })
			}
			continue
		}
		if _, ok := x.(*ast.IdentExpr); !ok {
			if _, ok := x.(*ast.AttrGetExpr); !ok {
				continue
			}
		}
		switch other := other.(type) {
		case *ast.NilExpr:
			w.narrow(x, func(v value) value { return keep(v, isNil|isDoubt, equal) })
		case *ast.FalseExpr:
			w.narrow(x, func(v value) value { return keep(v, isFalse|isDoubt, equal) })
		case *ast.TrueExpr:
			w.narrow(x, func(v value) value { return keep(v, isTrue, equal) })
		case *ast.StringExpr:
			w.narrow(x, func(v value) value { return equals(v, other.Value, isString, equal) })
		case *ast.NumberExpr:
			w.narrow(x, func(v value) value { return equals(v, other.Value, isNumber, equal) })
		default:
			if w.file.pathOf(other) != "" && equal && !w.one(other).may(falsy|isOther) {
				w.narrow(x, truthy)
			}
		}
	}
}

// keep narrows a value to some types, or to the others.
func keep(v value, k kinds, equal bool) value {
	if !equal {
		if k&isDoubt != 0 && k&isNil == 0 || k == isBool|isDoubt {
			k &^= isDoubt // it may be the other of nil and false
		}
		return v.without(k)
	}
	if v.may(isOther) {
		return of(k &^ isDoubt)
	}
	if v.traits&loose != 0 && k&isNil != 0 {
		v.kinds |= isNil
	}
	if v.may(isDoubt) && k&isDoubt != 0 {
		v.kinds |= k & (isNil | isFalse)
	}
	return v.without(^k)
}

// equals narrows a value to a literal, or to the others.
func equals(v value, literal string, k kinds, equal bool) value {
	if equal {
		if v.may(isOther) {
			v.kinds |= k
		}
		v = v.without(^k)
		if v.kinds != 0 && !v.open && len(v.keys) == 0 && len(v.texts) > 0 && !slices.Contains(v.texts, literal) {
			v.kinds = 0
		}
		if v.kinds != 0 {
			v.texts, v.open, v.traits, v.lead = []string{literal}, false, 0, ""
		}
		return v
	}
	if !v.open && len(v.texts) > 1 && v.only(k|falsy) {
		v.texts = slices.DeleteFunc(slices.Clone(v.texts), func(t string) bool { return t == literal })
	}
	return v
}
