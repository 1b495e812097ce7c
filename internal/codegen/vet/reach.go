package vet

import (
	"math/big"

	"github.com/yuin/gopher-lua/ast"
)

// A mention is a use of a top-level variable, or of a lib file, whose v is nil. `name.field` uses only that field.
type mention struct {
	upvalue
	field string // "" is all of it
}

// ofLibrary returns what the function, and the functions inside it, use of the library.
func (fn *function) ofLibrary() map[mention]bool {
	if fn.mentions != nil {
		return fn.mentions
	}
	fn.mentions = map[mention]bool{}
	fields := map[*ast.IdentExpr]string{}
	fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.AttrGetExpr:
			id, named := node.Object.(*ast.IdentExpr)
			if key, ok := node.Key.(*ast.StringExpr); ok && named {
				fields[id] = key.Value
			}
		case *ast.IdentExpr:
			if v := fn.file.refs[node]; v == nil || v.top() {
				fn.mentions[mention{upvalue{node.Value, v}, fields[node]}] = true
			}
		}
	})
	return fn.mentions
}

// A reach is the library's tables that a function or a table leads to, as they were when the library was loaded.
type reach struct {
	run    *run
	base   *sorted[*object]
	seen   map[any]bool // functions, and IDs of tables
	tables big.Int      // set of their IDs
}

// reachOf returns the IDs of the library's tables that a node leads to: a function, or the ID of a table.
func (r *run) reachOf(node any, base *sorted[*object]) *big.Int {
	if r.reachedAt != r.rewritten {
		clear(r.reached)
		r.reachedAt = r.rewritten
	}
	known, ok := r.reached[node]
	if !ok {
		to := &reach{run: r, base: base, seen: map[any]bool{}}
		switch node := node.(type) {
		case *function:
			to.function(node)
		case int:
			to.table(node)
		}
		known = &to.tables
		r.reached[node] = known
	}
	return known
}

func (to *reach) function(fn *function) {
	if to.seen[fn] {
		return
	}
	to.seen[fn] = true
	for m := range fn.ofLibrary() {
		v := to.run.modules[m.name]
		if m.v != nil {
			v = to.run.static[m.v]
		}
		if m.field == "" {
			to.value(&v)
			continue
		}
		for _, id := range v.objects {
			if o, ok := to.base.get(id); ok {
				to.tables.SetBit(&to.tables, id, 1)
				field, _ := o.field(m.field)
				to.value(&field)
			}
		}
	}
}

func (to *reach) value(v *value) {
	for _, c := range v.fns() {
		if c.fn != nil {
			to.function(c.fn)
		}
	}
	for _, id := range v.objects {
		to.table(id)
	}
}

func (to *reach) table(id int) {
	o, ok := to.base.get(id)
	if !ok || to.seen[id] {
		return
	}
	to.seen[id] = true
	to.tables.SetBit(&to.tables, id, 1)
	if o.sight == nil {
		o.sight = sightOf(id, o)
	}
	for _, fn := range o.sight.functions {
		to.function(fn)
	}
	for _, inner := range o.sight.tables {
		to.table(inner)
	}
}
