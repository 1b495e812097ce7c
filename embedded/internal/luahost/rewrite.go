package luahost

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// The names of operators that gopher-lua gets wrong, as functions that no source
// can name.
const (
	concatName = "\x00concat"
	moduloName = "\x00modulo"
	boundName  = "\x00bound"
)

// rewriter changes a syntax tree where gopher-lua compiles it to something else
// than Lua 5.1 would:
//
//   - a, b = b, a evaluates all of the right side before anything is assigned, and so does a = x and a;
//   - x .. y prints numbers with 14 digits, and x % y is x - floor(x/y)*y;
//   - 010 is ten, and for i = 1, '3' counts to three.
//
// It refuses goto and labels, which Lua 5.1 does not have.
type rewriter struct {
	observe     bool    // for an Observer
	blocks      []Block // those that are marked for it
	inside      int     // the number of the block that is the body of the function
	refused     string
	refusedLine int
}

func (r *rewriter) block(in []ast.Stmt) []ast.Stmt {
	if in == nil {
		return nil
	}
	out := make([]ast.Stmt, 0, len(in))
	for _, s := range in {
		out = append(out, r.statement(s))
	}
	return out
}

func (r *rewriter) statement(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.list(s.Lhs)
		r.list(s.Rhs)
		_, logical := s.Rhs[0].(*ast.LogicalOpExpr)
		if len(s.Lhs) > 1 || logical {
			return sequence(s)
		}
	case *ast.LocalAssignStmt:
		r.list(s.Exprs)
		r.returned(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expression(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expression(s.Condition)
		s.Stmts = r.body(s, s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = r.expression(s.Condition)
		s.Stmts = r.body(s, s.Stmts)
	case *ast.IfStmt:
		s.Condition = r.expression(s.Condition)
		s.Then = r.body(s, s.Then)
		s.Else = r.body(s, s.Else)
	case *ast.NumberForStmt:
		s.Init = bound(r.expression(s.Init), "initial value")
		s.Limit = bound(r.expression(s.Limit), "limit")
		s.Step = bound(r.expression(s.Step), "step")
		s.Stmts = r.body(s, s.Stmts)
	case *ast.GenericForStmt:
		r.list(s.Exprs)
		s.Stmts = r.body(s, s.Stmts)
	case *ast.FuncDefStmt:
		s.Func.Stmts = r.function(s, s.Func.Stmts)
	case *ast.ReturnStmt:
		r.list(s.Exprs)
	case *ast.GotoStmt:
		r.refuse(s, "'=' expected near '"+s.Label+"'")
	case *ast.LabelStmt:
		r.refuse(s, "unexpected symbol near ':'")
	}
	return s
}

func (r *rewriter) refuse(at ast.PositionHolder, why string) {
	if r.refused == "" {
		r.refused, r.refusedLine = why, at.Line()
	}
}

func (r *rewriter) list(exprs []ast.Expr) {
	for i, e := range exprs {
		exprs[i] = r.expression(e)
	}
}

func (r *rewriter) expression(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.NumberExpr:
		if n, ok := parseNumber(e.Value); ok {
			e.Value = strconv.FormatFloat(n, 'g', -1, 64)
		}
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expression(e.Object), r.expression(e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			f.Key, f.Value = r.expression(f.Key), r.expression(f.Value)
		}
	case *ast.FuncCallExpr:
		e.Func, e.Receiver = r.expression(e.Func), r.expression(e.Receiver)
		r.list(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
		if e.Operator == "%" {
			return hiddenCall(moduloName, e, e.Lhs, e.Rhs)
		}
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.FunctionExpr:
		e.Stmts = r.function(e, e.Stmts)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	}
	if r.observe {
		if call := observed(e); call != nil {
			return call
		}
	}
	return e
}

// concat joins a chain of .. into one call.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	var operands []ast.Expr
	for chain := ast.Expr(e); ; {
		link, ok := chain.(*ast.StringConcatOpExpr)
		if !ok {
			operands = append(operands, r.expression(chain))
			return hiddenCall(concatName, e, operands...)
		}
		operands = append(operands, r.expression(link.Lhs))
		chain = link.Rhs
	}
}

// bound converts the start, limit or step of a numeric for to a number.
func bound(e ast.Expr, name string) ast.Expr {
	switch e.(type) {
	case nil, *ast.NumberExpr, *ast.ArithmeticOpExpr, *ast.UnaryLenOpExpr:
		return e
	}
	text := &ast.StringExpr{Value: name}
	place(text, e)
	if many, ok := e.(*ast.FuncCallExpr); ok {
		many.AdjustRet = true
	}
	return hiddenCall(boundName, e, e, text)
}

// hiddenCall is an expression with one value; so is each of its arguments.
func hiddenCall(name string, at ast.PositionHolder, args ...ast.Expr) ast.Expr {
	switch last := args[len(args)-1].(type) {
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	f := &ast.IdentExpr{Value: name}
	place(f, at)
	c := &ast.FuncCallExpr{Func: f, Args: args, AdjustRet: true}
	place(c, at)
	return c
}

// sequence turns an assignment to several targets into single ones, after all of
// its expressions have been evaluated. Like Lua 5.1 it assigns from right to left.
func sequence(s *ast.AssignStmt) ast.Stmt {
	block := &ast.DoBlockStmt{}
	place(block, s)
	hold := func(values []ast.Expr, names ...string) {
		local := &ast.LocalAssignStmt{Names: names, Exprs: values}
		place(local, s)
		block.Stmts = append(block.Stmts, local)
	}
	named := func(name string) ast.Expr {
		e := &ast.IdentExpr{Value: name}
		place(e, s)
		return e
	}
	names := make([]string, len(s.Lhs))
	for i, target := range s.Lhs {
		n := strconv.Itoa(i)
		names[i] = "\x00value" + n
		member, ok := target.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		hold([]ast.Expr{member.Object}, "\x00object"+n)
		member.Object = named("\x00object" + n)
		if _, constant := member.Key.(ast.ConstExpr); !constant {
			hold([]ast.Expr{member.Key}, "\x00key"+n)
			member.Key = named("\x00key" + n)
		}
	}
	hold(s.Rhs, names...)
	for i := len(s.Lhs) - 1; i >= 0; i-- {
		single := &ast.AssignStmt{Lhs: s.Lhs[i : i+1 : i+1], Rhs: []ast.Expr{named(names[i])}}
		place(single, s)
		block.Stmts = append(block.Stmts, single)
	}
	return block
}

func place(e, at ast.PositionHolder) {
	e.SetLine(at.Line())
	e.SetLastLine(max(at.LastLine(), at.Line()))
}
