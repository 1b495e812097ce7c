package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A sequence is what is known of the order of a table that loops append to: its elements before these, what they append, and its elements
// behind these. Only tables with declared keys have one, because a command reads them by their order. It never changes.
type sequence struct {
	head    []value
	middle  *value // what loops append; nil if none has
	counted string // path of a length, as "#others", that is the number of elements in the middle; "" if unknown
	tail    []value
}

// sequenceOf returns the sequence of a table, which may be known one by one; nil if nothing is known.
func sequenceOf(o *object) *sequence {
	if o.sequence == nil && o.elem == nil && !o.open && !o.holed && slices.ContainsFunc(o.items, isKey) {
		return &sequence{head: o.items}
	}
	return o.sequence
}

func isKey(v value) bool { return len(v.keys()) > 0 }

// extended returns the sequence of a table after a value is appended; before is the table as it was.
func (r *run) extended(before *object, val value) *sequence {
	if before == nil || before.open || before.holed || !val.only(isStr|isNumber) {
		return nil
	}
	old := sequenceOf(before)
	switch {
	case old == nil && before.isEmpty() && isKey(val):
		old = &sequence{}
	case old == nil:
		return nil
	}
	out := *old
	if r.loops == 0 {
		if out.middle == nil && out.counted == "" {
			out.head = append(slices.Clip(out.head), val)
		} else {
			out.tail = append(slices.Clip(out.tail), val)
		}
		return &out
	}
	out.counted = ""
	for _, v := range out.tail { // an earlier turn may have appended it
		val = join(val, v)
	}
	out.tail = nil
	if out.middle != nil {
		val = join(*out.middle, val)
	}
	out.middle = &val
	return &out
}

// appendedTo returns a table as it was before a write to an element, if the write surely appends to it.
func (r *run) appendedTo(before *object, lhs *ast.AttrGetExpr, fixed bool) *object {
	if fixed && before != nil && before.elem == nil {
		return before
	}
	if sum, ok := lhs.Key.(*ast.ArithmeticOpExpr); ok {
		if length, ok := sum.Lhs.(*ast.UnaryLenOpExpr); ok && r.pathOf(lhs) != "" && r.pathOf(length.Expr) == r.pathOf(lhs.Object) {
			return before
		}
	}
	return nil
}

// mergeSequences returns what is known of a table that is one of two: the elements that both begin and end with.
func mergeSequences(a, b *object) *sequence {
	if a.sequence == b.sequence && (a.sequence != nil || sameSlice(a.items, b.items)) {
		return a.sequence
	}
	x, y := sequenceOf(a), sequenceOf(b)
	if x == nil || y == nil {
		return nil
	}
	out := &sequence{}
	n := min(len(x.head), len(y.head))
	for i := range n {
		out.head = append(out.head, join(x.head[i], y.head[i]))
	}
	x, y = x.without(n), y.without(n)
	if x.counted == y.counted && len(x.tail) == len(y.tail) {
		out.counted = x.counted
	}
	n = min(len(x.tail), len(y.tail))
	for i := range n {
		out.tail = append(out.tail, join(x.tail[len(x.tail)-n+i], y.tail[len(y.tail)-n+i]))
	}
	for _, s := range []*sequence{x, y} {
		for _, v := range s.tail[:len(s.tail)-n] {
			s.fill(v)
		}
		if s.middle != nil {
			out.fill(*s.middle)
		}
	}
	return out
}

// without returns the sequence behind its first n elements. Others that it begins with are its tail if nothing else follows, and belong to the
// middle if it has one.
func (s *sequence) without(n int) *sequence {
	out := &sequence{middle: s.middle, counted: s.counted, tail: s.tail}
	if rest := s.head[n:]; len(rest) > 0 {
		out.counted = ""
		if s.middle == nil {
			out.tail = slices.Concat(rest, s.tail)
			return out
		}
		for _, v := range rest {
			out.fill(v)
		}
	}
	return out
}

func (s *sequence) fill(v value) {
	if s.middle != nil {
		v = join(*s.middle, v)
	}
	s.middle = &v
}

// values returns the elements in their order, of which the middle stands for any number.
func (s *sequence) values() []value {
	out := slices.Clone(s.head)
	if s.middle != nil {
		out = append(out, *s.middle, *s.middle)
	}
	return append(out, s.tail...)
}

// see adds a sequence to a sight.
func (s *sequence) see(t *sight, h print) print {
	if s == nil {
		return h
	}
	h = h.word(s.counted).number(len(s.head)).number(len(s.tail))
	for _, v := range s.values() {
		h = t.add(h, &v)
	}
	return h
}

// appendsEach returns the tables to which each turn of a for appends one element, and which its body does not name otherwise.
func (r *run) appendsEach(stmt *ast.NumberForStmt) (found []*ast.IdentExpr) {
	f := r.here()
	for _, inner := range stmt.Stmts {
		var table ast.Expr
		switch inner := inner.(type) {
		case *ast.AssignStmt:
			if at, ok := inner.Lhs[0].(*ast.AttrGetExpr); ok && len(inner.Lhs) == 1 && appends(at) {
				table = at.Object
			}
		case *ast.FuncCallStmt:
			if call, ok := inner.Expr.(*ast.FuncCallExpr); ok && len(call.Args) == 2 && call.Func != nil && exprText(call.Func) == "table.insert" {
				table = call.Args[0]
			}
		}
		id, ok := table.(*ast.IdentExpr)
		if !ok || f.refs[id] == nil || f.refs[id].captured {
			continue
		}
		uses, ends, others := 0, true, 0
		for _, s := range stmt.Stmts {
			w := &walker{file: f, visit: func(node any, _ *function) {
				switch node := node.(type) {
				case *ast.IdentExpr:
					if f.refs[node] == f.refs[id] {
						uses++
						if s != inner {
							others++
						}
					}
				case *ast.BreakStmt:
					ends = false
				}
			}}
			w.stmts([]ast.Stmt{s})
		}
		if ends && others == 0 && uses <= 2 {
			found = append(found, id)
		}
	}
	return found
}

// counts notes on a path behind `for i = 1, #list` that the tables to which each turn appends one element have as many as the list.
func (r *run) counts(before, after *state, limit ast.Expr, tables []*ast.IdentExpr) {
	for _, table := range tables {
		was, ok := r.peek(before, table)
		if !ok || len(was.objects) != 1 {
			continue
		}
		from, to := before.get(was.objects[0]), after.get(was.objects[0])
		if from == nil || to == nil || from.elem != nil || from.sequence != nil && from.sequence.counted != "" {
			continue
		}
		s := sequenceOf(to)
		if s == nil && to.isEmpty() {
			s = &sequence{}
		}
		if s == nil || len(s.head) != len(from.items) || len(s.tail) > 0 {
			continue
		}
		counted := *s
		counted.counted = r.pathOf(limit)
		after.object(was.objects[0]).sequence = &counted
	}
}

// listsKeys reports whether an expression is the length of a list of declared keys, as the header declares it.
func (r *run) listsKeys(s *state, e ast.Expr) bool {
	length, ok := e.(*ast.UnaryLenOpExpr)
	if !ok || r.here().named(length.Expr) == nil || r.here().named(length.Expr).assigned > 0 {
		return false
	}
	v, ok := r.peek(s, length.Expr)
	if !ok || len(v.objects) != 1 {
		return false
	}
	o := s.get(v.objects[0])
	return o != nil && o.elem != nil && isKey(*o.elem) && o.size.most > 0
}

// countedKeys returns the places of keys whose number is not a literal, but surely the number of those that the last argument unpacks.
func (r *run) countedKeys(s *state, e *ast.FuncCallExpr, cmd *command) []int {
	if len(e.Args) != cmd.countAt+2 {
		return nil
	}
	call, ok := e.Args[cmd.countAt+1].(*ast.FuncCallExpr)
	if !ok {
		return nil
	}
	o, ok := r.unpackedTable(s, call)
	if !ok || sequenceOf(o) == nil {
		return nil
	}
	list, count := sequenceOf(o), e.Args[cmd.countAt]
	n := len(list.head)
	if list.middle != nil {
		n += 2
	}
	path := r.pathOf(count)
	switch table := r.pathOf(call.Args[0]); {
	case path != "" && path == "#"+table:
		n += len(list.tail)
	case list.counted == "" || !r.adds(s, count, list.counted, len(list.head)):
		return nil
	}
	places := make([]int, n)
	for i := range places {
		places[i] = cmd.countAt + i
	}
	return places
}

// adds reports whether an expression is the sum of a list's length, of that path, and a number.
func (r *run) adds(s *state, e ast.Expr, path string, n int) bool {
	if v := r.here().named(e); v != nil && v.assigned == 0 && len(r.here().given[v]) == 1 {
		e = r.here().given[v][0]
	}
	if sum, ok := e.(*ast.ArithmeticOpExpr); ok && sum.Operator == "+" {
		length, by := sum.Lhs, sum.Rhs
		if isConstant(length) {
			length, by = by, length
		}
		return r.pathOf(length) == path && r.listsKeys(s, length) && numberOf(by) == float64(n)
	}
	return n == 0 && r.pathOf(e) == path && r.listsKeys(s, e)
}
