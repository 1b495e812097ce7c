package vet

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// isOpenList reports whether the last argument of a call may be any number of them.
func (r *run) isOpenList(s *state, e *ast.FuncCallExpr) bool {
	return len(e.Args) > 0 && r.opens(s, e.Args[len(e.Args)-1])
}

// opens reports whether the last expression of a list may give any number of values.
func (r *run) opens(s *state, last ast.Expr) bool {
	switch last := last.(type) {
	case *ast.FuncCallExpr:
		open, known := r.here().open[last]
		if !known {
			open = !last.AdjustRet && isOpen(last)
			r.here().open[last] = open
		}
		if fn := r.authors(s, last); !open || fn != nil && !fn.returnsMany() {
			return false
		}
		if _, _, ok := slice(last); ok {
			return false
		}
		t, ok := r.unpackedTable(s, last)
		return !ok || !t.size.known || t.size.step != 0 || t.size.least > mostItems
	case *ast.Comma3Expr:
		return !last.AdjustRet && r.top().passed.open
	}
	return false
}

// authors returns the author's function that a call runs, or nil.
func (r *run) authors(s *state, e *ast.FuncCallExpr) *function {
	if e.Func == nil || !isPlain(e.Func) {
		return nil
	}
	before := r.c.quiet
	r.c.quiet = true
	defer func() { r.c.quiet = before }()
	if fns := func(v value) []*closure { return v.fns() }(r.plain(s, e.Func)); len(fns) == 1 {
		return fns[0].fn
	}
	return nil
}

// returnsMany reports whether a function ends a return with an expression that may give any number of values.
func (fn *function) returnsMany() bool {
	if fn.many == nil {
		many := false
		fn.walk(func(node any, in *function) {
			stmt, ok := node.(*ast.ReturnStmt)
			if !ok || in != fn || len(stmt.Exprs) == 0 {
				return
			}
			switch last := stmt.Exprs[len(stmt.Exprs)-1].(type) {
			case *ast.FuncCallExpr:
				many = many || !last.AdjustRet && isOpen(last)
			case *ast.Comma3Expr:
				many = many || !last.AdjustRet
			}
		})
		fn.many = &many
	}
	return *fn.many
}

// unproven reports a command whose arguments end in a list of which vet cannot prove that the command takes its number of elements.
func (r *run) unproven(s *state, e *ast.FuncCallExpr, name string, f *form, args []value) {
	last := e.Args[len(e.Args)-1]
	call, isCall := last.(*ast.FuncCallExpr)
	fixed := len(e.Args) - 2 // without the command's name
	unpacks := isCall && call.Func != nil && exprText(call.Func) == "unpack"
	if fixed < 0 || fixed > len(args) || isCall && !unpacks && r.authors(s, call) == nil {
		return
	}
	size, elem := tally{}, value{kinds: isStr, lenient: true}
	if unpacks {
		v, known := r.peek(s, call.Args[0])
		if known && v.lenient {
			return
		}
		if o, ok := r.unpackedTable(s, call); ok {
			size, elem = o.size, elementOf(o)
			if in, ok := s.paths.get("#" + r.pathOf(call.Args[0])); ok && in.in.known {
				size.least = max(size.least, int32(in.in.low))
			}
			empties := size.least == 0 && (r.mayBeEmpty(s, call.Args[0], v) || r.emptyReply(s, call, v))
			if empties && !matches(f.parts, args[:fixed], none) {
				r.wrongForm(e, name, f, fixed, " (the table of unpack may be empty: test its length before)")
				return
			}
		}
	}
	step := int32(1)
	if size.known {
		step = max(size.step, 1)
	}
	n := size.least
	for n == 0 {
		n += step
	}
	if n > mostItems { // as many beyond the last step, since matches takes long for long lists
		n -= (n - mostItems) / step * step
	}
	for range 4 {
		list := args[:fixed:fixed]
		for range n {
			list = append(list, elem)
		}
		if !matches(f.parts, list, none) {
			if r.reportOnce(r.at(last), RuleUnpack) {
				r.report(r.at(last), RuleUnpack, "vet cannot prove how many values %s gives to %s, whose form is %s %s: %s", listText(last), name, name, f.text, provable(last))
			}
			return
		}
		n += step
	}
}

func none(rest []value) bool { return len(rest) == 0 }

func listText(e ast.Expr) string {
	if _, dots := e.(*ast.Comma3Expr); dots {
		return "..."
	}
	call := e.(*ast.FuncCallExpr)
	if len(call.Args) == 0 {
		return exprText(e)
	}
	return strings.Replace(exprText(e), "(...)", "("+exprText(call.Args[0])+")", 1)
}

// provable returns what would let vet prove the number of values.
func provable(e ast.Expr) string {
	if _, dots := e.(*ast.Comma3Expr); dots {
		return "name the values as parameters, or call the function with as many values each time"
	}
	if exprText(e.(*ast.FuncCallExpr).Func) != "unpack" {
		return "let the function return its values one by one, without unpack, ... or a call as the last"
	}
	return "fill the table by its constructor, or by table.insert or t[#t + 1] with the same number of elements in each turn, or pass the elements one by one"
}

// mayBeEmpty reports whether a table that is unpacked may be empty, and nothing can have found out.
func (r *run) mayBeEmpty(s *state, e ast.Expr, v value) bool {
	return !s.facts.has(impossible) && r.untested(e) && (empty(s, v) || len(r.frames) == 1 && r.isParameter(e))
}

// howMany returns the value of `select('#', ...)`.
func (r *run) howMany(s *state, e *ast.FuncCallExpr, args []value) value {
	n := float64(len(args))
	why := ""
	switch {
	case r.isOpenList(s, e):
		why = "vet cannot prove how many values there are"
	case slices.ContainsFunc(args, func(v value) bool { return v.may(isNil) && !v.lenient }):
		why = "one of the values may be nil"
	default:
		return value{kinds: isInt, in: between(n, n).asTold()}
	}
	if r.reportOnce(r.at(e), RuleUnpack) {
		r.report(r.at(e), RuleUnpack, "select('#', ...) differs in gopher-lua for long lists and counts nil, and %s: pass a table and its length, or call the function with a list of strings and numbers", why)
	}
	return value{kinds: isInt, in: nonNegative}
}
