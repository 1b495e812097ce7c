package vet

import (
	"fmt"
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
	name     string
	mark     string // its name in paths
	pos      position
	owner    *function
	param    bool
	used     int                       // reads
	assigned int                       // writes after the declaration
	shared   bool                      // another function than its own assigns it
	init     ast.Expr                  // what the declaration gives it, if it is one expression for one name
	all      cell                      // what any assignment gives it
	later    cell                      // what assignments give it
	chosen   map[*function][]*variable // of a local that holds functions: the parameters that are true where it gets each
	from     []passed                  // of a parameter: what calls of this round pass
	passed   []passed                  // and what those of the round before have passed
}

// top reports whether the variable is at the top of a file, and so lives as long as the library.
func (v *variable) top() bool { return v.owner.parent == nil }

// An upvalue is a local of an outer function, or a lib file, which has no variable.
type upvalue struct {
	name string
	v    *variable
}

// A function is one function expression, or the chunk of a file.
type function struct {
	file     *file
	parent   *function // nil for the chunk
	expr     *ast.FunctionExpr
	name     string
	params   []*variable
	vars     []*variable
	upvalues map[upvalue]bool
	pos      position
	active   int  // live locals at the walk's position
	full     bool // they are too many, and a finding says so
	varargs  []*cell
	contract *spec.Function // of a public function
	flow     flow           // what all rounds have found of it
}

// A file is one Lua file with its names resolved and its nodes placed.
type file struct {
	src          *luasrc.File
	lib          string // the name of a lib file, or ""
	uses         []string
	chunk        *function
	funcs        []*function
	byExpr       map[*ast.FunctionExpr]*function
	pos          map[any]position
	refs         map[*ast.IdentExpr]*variable
	decls        map[any][]*variable     // of a LocalAssignStmt, NumberForStmt or GenericForStmt
	bodies       map[*variable]*function // of `local function`
	members      map[string]*function    // of `function lib.name`, by lib.name, and by name for other files
	globalWrites map[*ast.IdentExpr]bool // names on the left that are not local
	pending      []pendingFinding
}

// A pendingFinding is a finding of the walk that resolves names.
type pendingFinding struct {
	at     position
	rule   string
	format string
	args   []any
}

func (f *file) at(node any) position {
	if p, ok := f.pos[node]; ok {
		return p
	}
	if h, ok := node.(ast.PositionHolder); ok {
		line := min(max(h.Line(), 1), len(f.src.Lines))
		return position{line, f.src.Indent(line)}
	}
	return position{1, 1}
}

// A resolver walks a file in text order, so tokens and nodes stay in step.
type resolver struct {
	*file
	tokens scanner
	scopes []map[string]*variable
	live   []int // locals of the function when each scope opened
	fn     *function
	count  int // of variables
}

func resolve(src *luasrc.File, lib string, uses []string) *file {
	f := &file{
		src: src, lib: lib, uses: uses, byExpr: map[*ast.FunctionExpr]*function{}, pos: map[any]position{}, refs: map[*ast.IdentExpr]*variable{},
		decls: map[any][]*variable{}, bodies: map[*variable]*function{}, members: map[string]*function{}, globalWrites: map[*ast.IdentExpr]bool{},
	}
	f.chunk = &function{file: f, name: "the file", upvalues: map[upvalue]bool{}, pos: position{1, 1}}
	r := &resolver{file: f, tokens: scanner{tokens: src.Tokens}, fn: f.chunk}
	r.block(src.Chunk, nil)
	return f
}

func (r *resolver) declare(name string, param bool) *variable {
	v := &variable{name: name, mark: fmt.Sprintf("<%s %d>", name, r.count), pos: r.tokens.ident(name), owner: r.fn, param: param}
	r.count++
	r.fn.vars = append(r.fn.vars, v)
	return v
}

func (r *resolver) show(vars ...*variable) {
	for _, v := range vars {
		r.scopes[len(r.scopes)-1][v.name] = v
		v.owner.active++
		if limit := localLimit(v.owner); v.owner.active > limit && !v.owner.full {
			v.owner.full = true
			r.report(v.pos, RuleTooManyLocals, "local %s is live local number %d here, and a Lua function has at most %d: keep helpers in one table, or split", v.name, v.owner.active, limit)
		}
	}
}

// localLimit is Lua's limit, less the locals that the bundle adds to a function file's chunk.
func localLimit(fn *function) int {
	if fn.parent == nil && fn.file.lib == "" {
		return 150
	}
	return 200
}

func (r *resolver) report(at position, rule, format string, args ...any) {
	r.pending = append(r.pending, pendingFinding{at, rule, format, args})
}

func (r *resolver) open() {
	r.scopes = append(r.scopes, map[string]*variable{})
	r.live = append(r.live, r.fn.active)
}

func (r *resolver) close() {
	last := len(r.scopes) - 1
	r.fn.active = r.live[last]
	r.scopes, r.live = r.scopes[:last], r.live[:last]
}

func (r *resolver) lookup(name string) *variable {
	for i := len(r.scopes) - 1; i >= 0; i-- {
		if v := r.scopes[i][name]; v != nil {
			for fn := r.fn; fn != v.owner && fn != nil; fn = fn.parent {
				r.upvalue(fn, name, v)
			}
			return v
		}
	}
	if slices.Contains(r.uses, name) {
		for fn := r.fn; fn.parent != nil; fn = fn.parent {
			r.upvalue(fn, name, nil)
		}
	}
	return nil
}

func (r *resolver) block(stmts []ast.Stmt, vars []*variable) {
	r.open()
	r.show(vars...)
	for _, s := range stmts {
		r.stmt(s)
	}
	r.close()
}

func (r *resolver) stmt(s ast.Stmt) {
	if words := keywords[reflect.TypeOf(s)]; words != nil {
		r.pos[s] = r.tokens.word(words...)
	}
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		r.local(s)
	case *ast.AssignStmt:
		r.exprs(s.Lhs)
		r.exprs(s.Rhs)
		r.pos[s] = r.at(s.Lhs[0])
		r.assigned(s)
	case *ast.FuncCallStmt:
		r.expr(s.Expr)
		r.pos[s] = r.at(s.Expr)
	case *ast.DoBlockStmt:
		r.block(s.Stmts, nil)
	case *ast.WhileStmt:
		r.expr(s.Condition)
		r.block(s.Stmts, nil)
	case *ast.RepeatStmt:
		r.open() // the condition sees the block's locals
		for _, inner := range s.Stmts {
			r.stmt(inner)
		}
		r.expr(s.Condition)
		r.close()
	case *ast.IfStmt:
		r.expr(s.Condition)
		r.block(s.Then, nil)
		r.block(s.Else, nil)
	case *ast.NumberForStmt:
		v := r.declare(s.Name, false)
		r.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		r.decls[s] = []*variable{v}
		r.turn(s.Stmts, v)
	case *ast.GenericForStmt:
		for _, name := range s.Names {
			r.decls[s] = append(r.decls[s], r.declare(name, false))
		}
		r.exprs(s.Exprs)
		r.turn(s.Stmts, r.decls[s]...)
	case *ast.FuncDefStmt:
		if s.Name.Func != nil {
			r.expr(s.Name.Func)
		} else {
			r.expr(s.Name.Receiver)
			r.tokens.ident(s.Name.Method)
		}
		r.function(s.Func, pathName(s), r.pos[s], s.Name.Func == nil)
		switch name := s.Name.Func.(type) {
		case *ast.IdentExpr:
			r.globalWrites[name] = r.refs[name] == nil
			if v := r.refs[name]; v != nil {
				v.used--
				v.assigned++
				r.bodies[v] = r.byExpr[s.Func]
			}
		case *ast.AttrGetExpr:
			if key, ok := name.Key.(*ast.StringExpr); ok {
				if r.members[exprText(name)] = r.byExpr[s.Func]; r.members[key.Value] == nil {
					r.members[key.Value] = r.byExpr[s.Func]
				}
			}
		}
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	}
}

// keywords begin statements.
var keywords = map[reflect.Type][]string{
	reflect.TypeFor[*ast.LocalAssignStmt](): {"local"}, reflect.TypeFor[*ast.DoBlockStmt](): {"do"}, reflect.TypeFor[*ast.WhileStmt](): {"while"},
	reflect.TypeFor[*ast.RepeatStmt](): {"repeat"}, reflect.TypeFor[*ast.IfStmt](): {"if", "elseif"}, reflect.TypeFor[*ast.NumberForStmt](): {"for"},
	reflect.TypeFor[*ast.GenericForStmt](): {"for"}, reflect.TypeFor[*ast.FuncDefStmt](): {"function"}, reflect.TypeFor[*ast.ReturnStmt](): {"return"},
	reflect.TypeFor[*ast.BreakStmt](): {"break"}, reflect.TypeFor[*ast.GotoStmt](): {"goto"}, reflect.TypeFor[*ast.LabelStmt](): {"::"},
}

func (r *resolver) local(s *ast.LocalAssignStmt) {
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if fn, ok := s.Exprs[0].(*ast.FunctionExpr); ok && r.tokens.follows("function") { // local function f can call f
			v := r.declare(s.Names[0], false)
			r.decls[s] = []*variable{v}
			r.show(v)
			r.function(fn, v.name, r.pos[s], false)
			r.bodies[v] = r.byExpr[fn]
			return
		}
	}
	for _, name := range s.Names {
		r.decls[s] = append(r.decls[s], r.declare(name, false))
	}
	r.exprs(s.Exprs)
	for i, e := range s.Exprs {
		if fn, ok := e.(*ast.FunctionExpr); ok && i < len(s.Names) {
			r.byExpr[fn].name = s.Names[i]
			r.bodies[r.decls[s][i]] = r.byExpr[fn]
		}
		if i < len(s.Names) {
			r.decls[s][i].init = e
		}
	}
	r.show(r.decls[s]...)
}

// assigned counts writes, which are not reads of the name.
func (r *resolver) assigned(s *ast.AssignStmt) {
	for _, lhs := range s.Lhs {
		id, ok := lhs.(*ast.IdentExpr)
		if !ok {
			continue
		}
		r.globalWrites[id] = r.refs[id] == nil
		if v := r.refs[id]; v != nil {
			v.used--
			v.assigned++
			v.shared = v.shared || v.owner != r.fn
		}
	}
}

func pathName(s *ast.FuncDefStmt) string {
	if s.Name.Func == nil {
		return s.Name.Method
	}
	return exprText(s.Name.Func)
}

// Limits of Lua's compiler, which gopher-lua does not have.
const (
	upvalueLimit = 60
	hiddenLocals = 3 // of a for
)

// upvalue counts an upvalue of a function, nil for a lib file.
func (r *resolver) upvalue(fn *function, name string, v *variable) {
	at := upvalue{name, v}
	if fn.upvalues[at] {
		return
	}
	fn.upvalues[at] = true
	if len(fn.upvalues) == upvalueLimit+1 {
		r.report(fn.pos, RuleTooManyLocals, "%s uses more than %d upvalues with its lib files, which Redis's Lua refuses: put them into one table", fn.name, upvalueLimit)
	}
}

// turn walks the body of a for, which has locals without a name.
func (r *resolver) turn(stmts []ast.Stmt, vars ...*variable) {
	r.fn.active += hiddenLocals
	r.block(stmts, vars)
	r.fn.active -= hiddenLocals
}
