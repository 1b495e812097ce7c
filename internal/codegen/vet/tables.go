package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

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

// field evaluates `table.name`.
func (r *run) field(s *state, e *ast.AttrGetExpr, table value, name string) value {
	if len(s.paths) > 0 {
		if v, ok := s.paths.get(r.pathOf(e)); ok {
			return *v
		}
	}
	if fns := table.fns(); len(fns) == 1 && fns[0].builtin != "" && table.only(isTable) {
		return r.member(e, fns[0].builtin, name)
	}
	r.needs(s, table, e.Object, "look into")
	if table.json != 0 {
		return decodedValue(table)
	}
	if table.lenient || table.only(isFalsy) {
		return anything()
	}
	out := value{}
	for _, id := range table.objects {
		o := s.get(id)
		if o == nil {
			return anything()
		}
		v, ok := o.field(name)
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

// member evaluates a field of a global table of Redis.
func (r *run) member(e *ast.AttrGetExpr, lib, name string) value {
	if r.loading && lib == "redis" {
		switch {
		case name == "log":
			r.report(r.at(e), RuleLoadLog, "redis.log while the library loads aborts Valkey 9.1: log inside the function")
		case name == "call" || name == "pcall":
			r.report(r.at(e), RuleLoadCall, "redis.%s does not exist while Redis loads the library: call it inside the function", name)
		}
	}
	if id, ok := e.Object.(*ast.IdentExpr); !ok || !r.isGlobal(id) || !isLiteral(e.Key) { // the syntax shows the others
		libraryUse(e, lib, name, func(_ any, rule, format string, args ...any) { r.report(r.at(e), rule, format, args...) })
	}
	if lib == "math" && (name == "huge" || name == "pi") || lib == "redis" && strings.HasPrefix(name, "LOG_") || name == "REDIS_VERSION_NUM" {
		return of(isNum)
	}
	if name == "REDIS_VERSION" {
		return value{kinds: isStr}
	}
	if known := providedMembers[lib][name]; known != nil {
		return value{kinds: isFunc, rare: known}
	}
	return value{kinds: isFunc, rare: builtin(lib + "." + name)}
}

// element evaluates `table[key]`. It assumes that a computed element exists.
func (r *run) element(s *state, e *ast.AttrGetExpr, table, key value) value {
	if len(s.paths) > 0 {
		if path := r.pathOf(e); path != "" {
			if v, ok := s.paths.get(path); ok {
				return *v
			}
		}
	}
	r.needs(s, table, e.Object, "look into")
	if table.json != 0 {
		return decodedValue(table)
	}
	if table.lenient || table.only(isFalsy) {
		return anything()
	}
	if fns := table.fns(); len(fns) == 1 && fns[0].builtin != "" && table.only(isTable) && key.literal != nil {
		return r.member(e, fns[0].builtin, *key.literal)
	}
	place, fixed := key.number()
	names := key.fieldNames()
	out := value{}
	for _, id := range table.objects {
		o := s.get(id)
		if o == nil {
			return anything()
		}
		v := value{}
		r.steps += len(o.items)
		switch {
		case fixed && place >= 1 && int(place) <= len(o.items):
			v = o.items[int(place)-1]
		case fixed && o.elem == nil && !o.open && (len(o.items) > 0 || len(o.fields) == 0 && table.reads):
			v = of(isNil)
		case fixed && o.isEmpty() && !table.reads && !s.facts.has(impossible):
			v = of(isNil)
		case !fixed && len(names) > 0 && o.elem == nil && !o.open:
			v = o.named(names)
		case !fixed && o.within(key):
			v = o.between(key.in)
		default:
			v = elementOf(o)
			if fixed && int(place) > int(o.size.least) && !s.facts.has("#"+r.pathOf(e.Object)) {
				v = join(v, of(isNil))
			}
			v.proof = table.proof.element()
			v.reply = union(v.reply, table.reply)
			if fixed && o.scores && int(place)%2 == 0 {
				v.taint |= stored
			}
		}
		out = join(out, v)
		r.steps += len(out.objects)
	}
	if out.kinds == 0 {
		return unknown()
	}
	return out
}

func elementOf(o *object) value {
	v := o.joined()
	if v.kinds == 0 {
		for _, field := range o.fields { // t[name]
			v = join(v, *field.v)
		}
	}
	if v.kinds == 0 && !o.open {
		return anything() // the table is empty on this path, so a loop over it does not run
	}
	if v.kinds == 0 {
		return unknown()
	}
	return v
}

// elements joins the possible elements of a table's array part.
func (r *run) elements(s *state, table value) value {
	if table.json != 0 {
		return decodedValue(table)
	}
	if table.lenient {
		return anything()
	}
	out := value{}
	for _, id := range table.objects {
		if o := s.get(id); o != nil {
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
	states := []outcome{{s: s, vals: make([]value, 0, len(e.Fields))}}
	for _, f := range e.Fields {
		if isPlain(f.Value) {
			for i := range states {
				states[i].vals = append(states[i].vals, r.plain(states[i].s, f.Value))
			}
			continue
		}
		var next []outcome
		for _, o := range states {
			if dots, ok := f.Value.(*ast.Comma3Expr); ok && f.Key == nil && f == e.Fields[len(e.Fields)-1] && !dots.AdjustRet {
				next = append(next, outcome{s: o.s, vals: append(o.vals[:len(o.vals):len(o.vals)], r.top().extra...)})
				continue
			}
			got := r.eval(o.s, f.Value)
			for j, g := range got {
				next = append(next, outcome{s: g.s, vals: append(room(o.vals, j == len(got)-1, len(e.Fields)), g.v)})
			}
		}
		states = fewer(next)
	}
	var out []result
	for _, o := range states {
		obj := &object{around: float32(r.nested)}
		for i, f := range e.Fields {
			if i >= len(o.vals) {
				break // an empty ...
			}
			switch key := f.Key.(type) {
			case nil:
				obj.items = append(obj.items, o.vals[i])
			case *ast.StringExpr:
				obj.setField(key.Value, o.vals[i])
				if key.Value == "err" {
					r.errorText(f.Value, o.vals[i])
				}
			case *ast.TrueExpr:
				obj.setField(trueField, o.vals[i])
			case *ast.FalseExpr:
				obj.setField(falseField, o.vals[i])
			default:
				r.append(obj, o.vals[i])
			}
		}
		if n := len(e.Fields); n > 0 && e.Fields[n-1].Key == nil {
			if _, call := e.Fields[n-1].Value.(*ast.FuncCallExpr); call && r.opens(o.s, e.Fields[n-1].Value) {
				obj.items = nil
				for _, v := range o.vals {
					r.append(obj, v)
				}
			}
		}
		if len(o.vals) > len(e.Fields) {
			obj.items = append(obj.items, o.vals[len(e.Fields):]...)
		}
		obj.size = r.constructed(o.s, e, obj)
		if n := len(obj.items); n > mostItems {
			for _, v := range obj.items {
				r.append(obj, v)
			}
			obj.items = nil
		}
		out = append(out, result{o.s, r.newObject(o.s, e, obj)})
	}
	return out
}

// joined returns the join of a table's elements; its kinds are 0 if there are none.
func (o *object) joined() (v value) {
	for _, item := range o.items {
		v = join(v, item)
	}
	if o.elem != nil {
		v = join(v, *o.elem)
	}
	return v
}

// push adds a value behind the elements of a table; before is the table before the write. They stay known one by one in a function file, of strings
// and numbers, outside of loops.
func (r *run) push(o, before *object, val value) {
	defer func() {
		if o.elem != nil || before != nil && before.sequence != nil {
			o.sequence = r.extended(before, val)
		}
	}()
	n := len(o.items)
	if r.loops > 0 || o.elem != nil || o.open || o.holed || o.size != sized(n+1) || n >= mostItems || !val.only(isStr|isNumber) || r.here().lib != "" {
		r.append(o, val)
		return
	}
	o.items = append(o.items[:n:n], val)
}

// constructed returns how many elements a constructor gives. The last may be a call or `...` with any number of values.
func (r *run) constructed(s *state, e *ast.TableExpr, obj *object) tally {
	n := len(obj.items)
	for i, item := range obj.items {
		if item.may(isNil) && !item.vague() {
			return tally{least: int32(i)}
		}
	}
	if last := len(e.Fields) - 1; last >= 0 && e.Fields[last].Key == nil && r.opens(s, e.Fields[last].Value) {
		return tally{least: int32(max(n-1, last))}
	}
	if obj.elem != nil {
		return tally{} // elements with computed keys
	}
	return sized(n)
}

// mostItems is the most elements of a constructor that are known one by one.
const mostItems = 100
