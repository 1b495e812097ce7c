package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

func (r *resolver) exprs(list []ast.Expr) {
	for _, e := range list {
		if e != nil {
			r.expr(e)
		}
	}
}

func (r *resolver) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.TrueExpr:
		r.pos[e] = r.tokens.word("true")
	case *ast.FalseExpr:
		r.pos[e] = r.tokens.word("false")
	case *ast.NilExpr:
		r.pos[e] = r.tokens.word("nil")
	case *ast.Comma3Expr:
		r.pos[e] = r.tokens.word("...")
	case *ast.NumberExpr:
		r.pos[e] = r.tokens.number(e.Value)
	case *ast.StringExpr:
		r.pos[e] = r.tokens.string(e.Value)
	case *ast.IdentExpr:
		r.pos[e] = r.tokens.ident(e.Value)
		if v := r.lookup(e.Value); v != nil {
			v.used++
			r.refs[e] = v
		}
	case *ast.AttrGetExpr:
		r.expr(e.Object)
		r.pos[e] = r.at(e.Object)
		if key, ok := e.Key.(*ast.StringExpr); ok {
			r.pos[key] = r.tokens.name(key.Value)
		} else {
			r.expr(e.Key)
		}
	case *ast.TableExpr:
		r.pos[e] = r.tokens.word("{")
		for _, f := range e.Fields {
			if key, ok := f.Key.(*ast.StringExpr); ok {
				r.pos[key] = r.tokens.name(key.Value)
			} else if f.Key != nil {
				r.expr(f.Key)
			}
			r.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		if e.Func != nil {
			r.expr(e.Func)
			r.pos[e] = r.at(e.Func)
		} else {
			r.expr(e.Receiver)
			r.pos[e] = r.at(e.Receiver)
			r.tokens.ident(e.Method)
		}
		r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		r.binary(e, e.Lhs, e.Rhs)
	case *ast.RelationalOpExpr:
		r.binary(e, e.Lhs, e.Rhs)
	case *ast.StringConcatOpExpr:
		r.binary(e, e.Lhs, e.Rhs)
	case *ast.ArithmeticOpExpr:
		r.binary(e, e.Lhs, e.Rhs)
	case *ast.UnaryMinusOpExpr:
		r.pos[e] = r.tokens.word("-")
		r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		r.pos[e] = r.tokens.word("not")
		r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		r.pos[e] = r.tokens.word("#")
		r.expr(e.Expr)
	case *ast.FunctionExpr:
		r.function(e, "a function", r.tokens.word("function"), false)
	}
}

func (r *resolver) binary(e, lhs, rhs ast.Expr) {
	r.expr(lhs)
	r.pos[e] = r.at(lhs)
	r.expr(rhs)
}

// function walks a function; the tokens follow its name, if it has one.
func (r *resolver) function(e *ast.FunctionExpr, name string, at position, method bool) {
	fn := &function{file: r.file, parent: r.fn, expr: e, name: name, upvalues: map[upvalue]bool{}, pos: at}
	r.pos[e] = at
	r.byExpr[e] = fn
	r.funcs = append(r.funcs, fn)
	outer := r.fn
	r.fn = fn
	if method {
		fn.params = append(fn.params, &variable{name: "self", pos: at, owner: fn, param: true, used: 1})
	}
	for _, p := range e.ParList.Names {
		fn.params = append(fn.params, r.declare(p, true))
	}
	r.block(e.Stmts, fn.params)
	r.fn = outer
}

// exprText formats a short expression for a message.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value
	case *ast.NumberExpr:
		return e.Value
	case *ast.StringExpr:
		if len(e.Value) > 32 {
			return "this text"
		}
		return "'" + printable(e.Value) + "'"
	case *ast.NilExpr:
		return "nil"
	case *ast.TrueExpr:
		return "true"
	case *ast.FalseExpr:
		return "false"
	case *ast.AttrGetExpr:
		if key, ok := e.Key.(*ast.StringExpr); ok {
			return exprText(e.Object) + "." + key.Value
		}
		return exprText(e.Object) + "[" + exprText(e.Key) + "]"
	case *ast.FuncCallExpr:
		if e.Func != nil {
			return exprText(e.Func) + "(...)"
		}
		return exprText(e.Receiver) + ":" + e.Method + "(...)"
	case *ast.UnaryLenOpExpr:
		return "#" + exprText(e.Expr)
	case *ast.UnaryMinusOpExpr:
		return "-" + exprText(e.Expr)
	case *ast.UnaryNotOpExpr:
		return "not " + exprText(e.Expr)
	case *ast.ArithmeticOpExpr:
		return operation(e.Lhs, e.Operator, e.Rhs)
	case *ast.StringConcatOpExpr:
		return operation(e.Lhs, "..", e.Rhs)
	case *ast.RelationalOpExpr:
		return operation(e.Lhs, e.Operator, e.Rhs)
	case *ast.LogicalOpExpr:
		return operation(e.Lhs, e.Operator, e.Rhs)
	case *ast.TableExpr:
		return "{...}"
	}
	return "this"
}

// operation formats a binary operation, or "this" if that would be long.
func operation(lhs ast.Expr, operator string, rhs ast.Expr) string {
	text := exprText(lhs) + " " + operator + " " + exprText(rhs)
	if len(text) > 48 {
		return "this"
	}
	return text
}

// printable quotes text so that a message stays on one line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 32 || r > 126 {
			return '?'
		}
		return r
	}, s)
}
