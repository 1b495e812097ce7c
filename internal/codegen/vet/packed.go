package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// packed begins the owner of a packed group's rows, which are cached across calls.
const packed = "the rows of "

// prepare returns a packed group as the generated entry passes it: rows decoded, prepared by their lib file, and cached.
func (r *run) prepare(s *state, g spec.Field) (*state, value) {
	row := &object{}
	cells, _ := g.Cells()
	for _, c := range cells {
		row.setField(c.Lua, r.argument(s, c, g.Lua+"."+c.Lua))
	}
	elem := r.newObject(s, g.Lua+"[]", row)
	rows := r.newObject(s, g.Lua, &object{elem: &elem, size: rowsOf(g)})
	if g.Prepare {
		s = r.prepared(s, g, elem, r.newObject(s, g.Lua+" above", &object{elem: &elem}))
	}
	own(s, rows, packed+g.Name)
	return s, rows
}

// prepared runs the lib file's prepare on a row, and joins the paths without an error. It assumes that the rows above are like the row.
func (r *run) prepared(s *state, g spec.Field, row, above value) *state {
	lib := r.c.libs[g.Rows]
	if lib == nil || lib.members["prepare"] == nil {
		return s
	}
	fn := lib.members["prepare"]
	r.preparing = g.Rows
	defer func() { r.preparing = "" }()
	var out *state
	for _, o := range r.invoke(s.clone(), &closure{fn: fn}, []value{row, above}, nil, passed{}) {
		if refusal := valueAt(o.vals, 1); !refusal.may(isNil) {
			continue
		}
		if out == nil {
			out = o.s
		} else {
			out = merge(out, o.s, false)
		}
	}
	if out == nil {
		return s
	}
	return out
}

// written finds a write to a table that outlives the call.
func (r *run) written(o *object, node any, table ast.Expr) {
	switch {
	case o.top == "" || r.loading:
	case strings.HasPrefix(o.top, packed):
		r.report(r.at(node), RuleLibraryState, "%s belongs to %s, which are cached for other calls: write to a table of this call, or add constants in prepare", exprText(table), o.top)
	default:
		r.report(r.at(node), RuleLibraryState, "%s belongs to the library and not to this call: it keeps its content on this node and is not replicated; use a local, or a key", exprText(table))
	}
}

// own marks tables and the tables below them as cached across calls.
func own(s *state, v value, owner string) {
	for _, id := range v.objects {
		o := s.get(id)
		if o == nil || o.top != "" {
			continue
		}
		o = s.object(id)
		o.top = owner
		for _, field := range o.fields {
			own(s, *field.v, owner)
		}
		for _, item := range o.items {
			own(s, item, owner)
		}
		if o.elem != nil {
			own(s, *o.elem, owner)
		}
	}
}
