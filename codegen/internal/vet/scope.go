package vet

import (
	"reflect"
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A position is 1-based; columns are bytes.
type position struct{ line, col int }

// A variable is one local, parameter or loop variable.
type variable struct {
	name   string
	pos    position
	owner  *function
	param  bool
	field  *spec.Field // of a public function's parameter: its line in the header
	given  []given     // what its declaration and assignments give it
	tested bool        // a condition names it
}

// given is value n of an expression, nil where nothing is known of it.
type given struct {
	expr ast.Expr
	n    int
}

// A function is one function expression, or the chunk of a file.
type function struct {
	file    *file
	parent  *function // nil for the chunk
	name    string
	params  []*variable
	returns []*ast.ReturnStmt
}

// A node is a statement or an expression, and the function in which it stands.
type node struct {
	is any
	fn *function
}

// A file is one Lua file with its names resolved and its nodes placed.
type file struct {
	checker *checker
	src     *luasrc.File
	ignores []*ignore
	lib     string // the name of a lib file, or ""
	uses    []string
	header  *spec.Function // of a function's file
	main    *function      // the function of that header
	nodes   []node         // in the order of the text
	at      map[any]position
	refs    map[*ast.IdentExpr]*variable
	safe    map[*ast.IdentExpr]bool // a condition above has tested the local
	bodies  map[*ast.FunctionExpr]*function
	members map[string]*function // of `function lib.name`
}

// A resolver walks a file in the order of its text, so tokens and nodes stay in step: the tree has no columns. Between two leaves of the tree
// are only brackets, separators and keywords, so the next token that matches a leaf is its position.
type resolver struct {
	*file
	next   int        // token
	found  []position // of tokens
	scopes []map[string]*variable
	fn     *function
	tests  int // conditions around the walk's position
}

func (c *checker) resolve(src *luasrc.File, lib string, uses []string, header *spec.Function) *file {
	f := &file{
		checker: c, src: src, ignores: ignoresOf(src), lib: lib, uses: uses, header: header, at: map[any]position{}, refs: map[*ast.IdentExpr]*variable{}, safe: map[*ast.IdentExpr]bool{},
		bodies: map[*ast.FunctionExpr]*function{}, members: map[string]*function{},
	}
	r := &resolver{file: f, fn: &function{file: f}}
	r.block(src.Chunk, nil)
	return f
}

// token moves on to the next token with one of some texts. If there is none, it stays.
func (r *resolver) token(words ...string) position {
	if i := slices.IndexFunc(r.src.Tokens[r.next:], func(t ast.Token) bool { return slices.Contains(words, t.Str) }); i >= 0 {
		r.next += i + 1
	}
	at := r.src.Tokens[max(r.next-1, 0)].Pos
	r.found = append(r.found, position{at.Line, at.Column})
	return r.found[len(r.found)-1]
}

func (r *resolver) note(n any, at position) {
	r.at[n] = at
	r.nodes = append(r.nodes, node{n, r.fn})
}

func (r *resolver) declare(names []string, param bool) []*variable {
	vars := make([]*variable, len(names))
	for i, name := range names {
		vars[i] = &variable{name: name, pos: r.token(name), owner: r.fn, param: param}
	}
	return vars
}

func (r *resolver) show(vars []*variable) {
	for _, v := range vars {
		r.scopes[len(r.scopes)-1][v.name] = v
	}
}

func (r *resolver) lookup(name string) *variable {
	for _, scope := range slices.Backward(r.scopes) {
		if v := scope[name]; v != nil {
			return v
		}
	}
	return nil
}

// block walks statements in a scope of their own, which the condition of a repeat sees, too.
func (r *resolver) block(stmts []ast.Stmt, until ast.Expr, vars ...*variable) {
	r.scopes = append(r.scopes, map[string]*variable{})
	r.show(vars)
	for _, s := range stmts {
		r.stmt(s)
	}
	r.condition(until)
	r.scopes = r.scopes[:len(r.scopes)-1]
}

// A condition is an expression that is tested.
type condition struct{ ast.Expr }

func (r *resolver) condition(e ast.Expr) {
	if e != nil {
		r.note(condition{e}, position{})
		r.tests++
		r.expr(e)
		r.tests--
	}
}

func (r *resolver) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		r.local(s)
	case *ast.AssignStmt:
		for _, lhs := range s.Lhs {
			r.target(lhs)
		}
		r.note(s, r.at[s.Lhs[0]])
		r.exprs(s.Rhs)
		for i, lhs := range s.Lhs {
			r.assign(lhs, valueAt(s.Rhs, i))
		}
	case *ast.RepeatStmt:
		r.block(s.Stmts, s.Condition)
	case *ast.NumberForStmt:
		vars := r.declare([]string{s.Name}, false)
		r.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		r.block(s.Stmts, nil, vars...)
	case *ast.GenericForStmt:
		vars := r.declare(s.Names, false)
		r.exprs(s.Exprs)
		if of, ok := s.Exprs[0].(*ast.FuncCallExpr); ok && len(vars) > 1 && len(of.Args) == 1 && exprText(of.Func) == "ipairs" {
			vars[1].given = []given{{&ast.AttrGetExpr{Object: of.Args[0], Key: &ast.IdentExpr{}}, 0}}
		}
		r.block(s.Stmts, nil, vars...)
	case *ast.FuncDefStmt:
		at := r.token("function")
		if s.Name.Func == nil {
			r.expr(s.Name.Receiver)
			r.token(s.Name.Method)
			r.function(s.Func, s.Name.Method, at, &variable{name: "self", pos: at, owner: r.fn, param: true})
			return
		}
		r.target(s.Name.Func)
		body := r.function(s.Func, exprText(s.Name.Func), at)
		r.assign(s.Name.Func, given{s.Func, 0})
		if attr, ok := s.Name.Func.(*ast.AttrGetExpr); ok {
			r.members[exprText(attr)] = body
		}
	case *ast.ReturnStmt:
		r.note(s, r.token("return"))
		r.fn.returns = append(r.fn.returns, s)
		r.exprs(s.Exprs)
	case *ast.GotoStmt, *ast.LabelStmt:
		r.note(s, r.token("goto", "::"))
	default:
		r.parts(reflect.ValueOf(s).Elem())
	}
}

// target walks what is assigned to.
func (r *resolver) target(e ast.Expr) {
	id, ok := e.(*ast.IdentExpr)
	if !ok {
		r.expr(e)
		return
	}
	r.at[id], r.refs[id] = r.token(id.Value), r.lookup(id.Value)
	if r.refs[id] == nil {
		r.report(r.at[id], "global-write", "%s is a global, and a library cannot set one: write `local` before it", id.Value)
	}
}

// assign notes what a statement gives to a local.
func (r *resolver) assign(lhs ast.Expr, g given) {
	if id, ok := lhs.(*ast.IdentExpr); ok && r.refs[id] != nil {
		r.refs[id].given = append(r.refs[id].given, g)
	}
}

// valueAt is value i of a list of expressions.
func valueAt(list []ast.Expr, i int) given {
	last := len(list) - 1
	switch {
	case i < last || i == last && !isOpen(list[last]):
		return given{list[i], 0}
	case last >= 0 && isOpen(list[last]):
		return given{list[last], i - last}
	}
	return given{&ast.NilExpr{}, 0}
}

// isOpen reports whether an expression gives any number of values.
func isOpen(e ast.Expr) bool {
	call, ok := e.(*ast.FuncCallExpr)
	_, dots := e.(*ast.Comma3Expr)
	return dots || ok && !call.AdjustRet
}

func (r *resolver) local(s *ast.LocalAssignStmt) {
	r.note(s, r.token("local"))
	tokens := r.src.Tokens[r.next:]
	if len(tokens) > 0 && tokens[0].Str == "function" { // local function f can call f
		r.token("function")
		vars, fn := r.declare(s.Names, false), s.Exprs[0].(*ast.FunctionExpr)
		vars[0].given = []given{{fn, 0}}
		r.show(vars)
		body := r.function(fn, s.Names[0], r.at[s])
		if r.header != nil && r.fn.parent == nil && body.name == r.header.Name {
			r.main = body
			for i, p := range body.params[:min(len(body.params), len(r.header.Params))] {
				p.field = &r.header.Params[i]
			}
		}
		return
	}
	vars := r.declare(s.Names, false)
	r.exprs(s.Exprs)
	for i, v := range vars {
		if len(s.Exprs) > 0 {
			v.given = []given{valueAt(s.Exprs, i)}
		}
	}
	r.show(vars)
}

func (r *resolver) exprs(list []ast.Expr) { r.parts(reflect.ValueOf(list)) }

func (r *resolver) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.Comma3Expr:
		r.at[e] = r.token("true", "false", "nil", "...")
	case *ast.NumberExpr:
		r.at[e] = r.token(e.Value)
	case *ast.StringExpr: // also of .name and name =
		r.at[e] = r.token(e.Value)
	case *ast.IdentExpr:
		r.note(e, r.token(e.Value))
		if v := r.lookup(e.Value); v != nil {
			r.refs[e], r.safe[e] = v, v.tested
			v.tested = v.tested || r.tests > 0
		}
	case *ast.FunctionExpr:
		r.function(e, "a function", r.token("function"))
	case *ast.TableExpr:
		r.note(e, r.token("{"))
		r.parts(reflect.ValueOf(e.Fields))
	default:
		logical, _ := e.(*ast.LogicalOpExpr)
		_, compares := e.(*ast.RelationalOpExpr)
		if compares || logical != nil && logical.Operator == "and" { // its right side runs where the left is true
			r.tests++
			defer func() { r.tests-- }()
		}
		from := len(r.found)
		r.parts(reflect.ValueOf(e).Elem())
		r.note(e, r.found[from])
	}
}

// parts walks the parts of a node, which most have in the order of the text.
func (r *resolver) parts(v reflect.Value) {
	switch is := v.Interface().(type) {
	case ast.Expr:
		r.expr(is)
		return
	case []ast.Stmt:
		r.block(is, nil)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		r.parts(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			r.parts(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name == "Condition" {
				r.condition(v.Field(i).Interface().(ast.Expr))
			} else if f.IsExported() {
				r.parts(v.Field(i))
			}
		}
	}
}

// function walks a function; the tokens follow its name, if it has one.
func (r *resolver) function(e *ast.FunctionExpr, name string, at position, self ...*variable) *function {
	outer, tests := r.fn, r.tests
	fn := &function{file: r.file, parent: outer, name: name}
	r.at[e], r.bodies[e] = at, fn
	r.fn, r.tests = fn, 0
	fn.params = append(self, r.declare(e.ParList.Names, true)...)
	r.block(e.Stmts, nil, fn.params...)
	r.fn, r.tests = outer, tests
	return fn
}

// exprText is a short expression in a message.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value
	case *ast.NilExpr:
		return "nil"
	case *ast.AttrGetExpr:
		if key, ok := e.Key.(*ast.StringExpr); ok {
			return exprText(e.Object) + "." + key.Value
		}
		return exprText(e.Object) + "[" + exprText(e.Key) + "]"
	case *ast.FuncCallExpr:
		if e.Func != nil {
			return exprText(e.Func) + "(...)"
		}
	}
	return "this"
}
