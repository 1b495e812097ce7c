package vet

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/command"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

var (
	// A row for each global table of Redis 7.0 to Valkey 9, with its members.
	//
	//go:embed library_members.txt
	memberTable string

	// A row for each global of Lua or Redis that functions must not use: name and reason.
	//
	//go:embed refused_globals.txt
	refusedGlobalTable string
)

var (
	refusedGlobals = rows(refusedGlobalTable)
	baseFunctions  = set("assert error ipairs next pairs pcall rawequal rawget select tonumber tostring type unpack xpcall")
	libraryMembers = func() map[string]map[string]bool {
		out := map[string]map[string]bool{}
		for name, members := range rows(memberTable) {
			out[name] = set(members)
		}
		return out
	}()
)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// visit applies the rules to every node of a file.
func (f *file) visit() {
	used := map[ast.Expr]bool{} // what is called or selected from, not passed on
	for _, n := range f.nodes {
		switch e := n.is.(type) {
		case *ast.AttrGetExpr:
			used[e.Object] = true
		case *ast.FuncCallExpr:
			used[e.Func] = true
			if _, ok := command.Arguments(e); ok && exprText(e.Func) == "pcall" {
				used[e.Args[0]] = true
			}
		}
	}
	for _, n := range f.nodes {
		at := f.at[n.is]
		switch e := n.is.(type) {
		case *ast.IdentExpr:
			if f.refs[e] == nil && !slices.Contains(f.uses, e.Value) {
				f.global(at, e.Value, n.fn, used[e])
			}
		case *ast.AttrGetExpr:
			id, _ := e.Object.(*ast.IdentExpr)
			if key, ok := e.Key.(*ast.StringExpr); ok && id != nil && !f.declares(id) && libraryMembers[id.Value] != nil {
				f.member(at, id.Value, key.Value, used[e])
			}
		case *ast.LocalAssignStmt:
			for i, x := range e.Exprs[:min(len(e.Exprs), len(e.Names))] {
				f.named(x, e.Names[i], "")
			}
		case *ast.AssignStmt:
			for i, lhs := range e.Lhs {
				f.libraryState(lhs, n.fn, false)
				if i < len(e.Rhs) {
					text := exprText(lhs)
					f.named(e.Rhs[i], text[strings.LastIndexByte(text, '.')+1:], "")
				}
			}
		case condition:
			f.condition(e.Expr)
		case *ast.GotoStmt, *ast.LabelStmt:
			f.report(at, "portable", "goto is not in Lua 5.1: real servers refuse to load the library; use an if, or a function that returns")
		case *ast.ReturnStmt:
			if n.fn == f.main {
				f.returned(e)
			}
		case *ast.TableExpr:
			for _, field := range e.Fields {
				if key, ok := field.Key.(*ast.StringExpr); ok && key.Value == "err" {
					f.errorText(field.Value)
				} else if ok {
					f.named(field.Value, key.Value, "")
				}
			}
		case *ast.RelationalOpExpr:
			f.sameUnit(at, e.Lhs, e.Rhs)
			if s := f.shape(e.Lhs); exprText(e.Rhs) == "nil" && s.reply != "" && s.kinds == isPlain|isNone {
				f.report(at, "false-reply", "the reply of %s is never nil: a missing key or field is false, so write `not %s` or compare with false", s.reply, exprText(e.Lhs))
			}
		case *ast.ArithmeticOpExpr:
			if e.Operator == "+" || e.Operator == "-" {
				f.sameUnit(at, e.Lhs, e.Rhs)
			}
		case *ast.StringConcatOpExpr:
			f.digits(e.Lhs, "..")
			f.digits(e.Rhs, "..")
		case *ast.FuncCallExpr:
			f.call(e, n.fn)
		}
	}
}

// global checks a name that no local has.
func (f *file) global(at position, name string, fn *function, used bool) {
	provided := libraryMembers[name] != nil || baseFunctions[name]
	switch why, refused := refusedGlobals[name]; {
	case provided && fn.parent == nil:
		f.report(at, "load", "Redis loads the library without %s, and redis.log there aborts Valkey 9.1: use it inside the function", name)
	case libraryMembers[name] != nil && !used:
		f.report(at, "sandbox", "%s is a value here, which hides what is called of it: write %s.name(...)", name, name)
	case provided:
	case refused:
		f.report(at, "sandbox", "a function must not use %s: %s", name, why)
	case f.checker.libs[name] != nil:
		f.report(at, "global-read", "%s is a lib file that the header does not use: add `--- @use %s`", name, name)
	default:
		known := slices.Concat(slices.Sorted(maps.Keys(libraryMembers)), slices.Sorted(maps.Keys(baseFunctions)))
		f.report(at, "global-read", "%s is not defined here, and globals do not exist in a library%s", name, spelling.DidYouMean(name, known))
	}
}

// member applies the rules about one member of a global table.
func (f *file) member(at position, table, member string, used bool) {
	switch name := table + "." + member; {
	case (name == "redis.call" || name == "redis.pcall") && !used:
		f.report(at, "dynamic-command", "%s is a value here, which hides its commands, so their ACL rules are unknown: write %s('COMMAND', ...)", name, name)
	case name == "math.random" || name == "math.randomseed":
		f.report(at, "random", "%s yields the same sequence on every fresh server: take random bytes of Go's crypto/rand as an argument", name)
	case name == "redis.setresp":
		f.report(at, "sandbox", "redis.setresp changes what replies look like, and generated clients decode flat RESP2 arrays: return flat values")
	case table == "cjson" && (member == "new" || strings.HasPrefix(member, "encode_") || strings.HasPrefix(member, "decode_")):
		f.report(at, "sandbox", "a function must not use %s: on a server cjson's options hold for every library", name)
	case !libraryMembers[table][member]:
		f.report(at, "global-read", "%s does not exist in Redis's Lua 5.1%s", name, spelling.DidYouMean(member, slices.Sorted(maps.Keys(libraryMembers[table]))))
	}
}

// libraryState reports a statement of a function that changes what outlives the call; inside says that it changes what e has.
func (f *file) libraryState(e ast.Expr, fn *function, inside bool) {
	id := base(e)
	if id == nil || fn.parent == nil {
		return
	}
	v := f.refs[id]
	if group := f.groupOf(id); group != nil && (inside || id != e) {
		f.report(f.at[e], "library-state", "the rows of %s are kept for later calls that pass the same, which would find this change: use a local or a table of your own", group.name)
	}
	if v == nil && slices.Contains(f.uses, id.Value) || v != nil && v.owner.parent == nil && !f.silenced("library-state", v.pos.line) {
		f.report(f.at[e], "library-state", "%s belongs to the library: it keeps its value between calls on this node, and no replica has it; use a local or a key, or say at its declaration why it may with `-- rlfunc:ignore library-state reason`", id.Value)
	}
}

// groupOf is the parameter of a public function whose rows a local has, or nil.
func (f *file) groupOf(id *ast.IdentExpr) *variable {
	for range 5 {
		v := f.refs[id]
		switch {
		case v == nil:
			return nil
		case v.field != nil && v.field.Kind == spec.KindGroup && len(v.given) == 0:
			return v
		case len(v.given) != 1:
			return nil
		}
		if id = base(v.given[0].expr); id == nil {
			return nil
		}
	}
	return nil
}

// condition reports a number that is tested for truth.
func (f *file) condition(e ast.Expr) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		f.condition(e.Lhs)
		f.condition(e.Rhs)
	case *ast.UnaryNotOpExpr:
		f.condition(e.Expr)
	default:
		if s := f.shape(e); s.kinds == isPlain && s.number && s.reply != "" {
			f.report(f.at[e], "truthy-number", "%s, the reply of %s, is a number, and 0 is true in Lua: compare it, as in %s == 1", exprText(e), s.reply, exprText(e))
		}
	}
}

// call applies the rules about a call.
func (f *file) call(e *ast.FuncCallExpr, fn *function) {
	if args, ok := command.Arguments(e); ok {
		f.redisCall(e, args, fn)
		return
	}
	if to := f.callee(e); to != nil {
		for i, p := range to.params[:min(len(to.params), len(e.Args))] {
			f.named(e.Args[i], p.name, " of "+to.name)
		}
	}
	if f.declares(e.Func) || len(e.Args) == 0 {
		return
	}
	switch name := exprText(e.Func); name {
	case "pairs":
		f.report(f.at[e], "pairs", "pairs visits a table in an order that differs between engines and calls: use ipairs on an array, or sort the names first")
	case "unpack":
		if len(e.Args) == 1 && f.shape(e.Args[0]).large {
			f.report(f.at[e], "unpack", "unpack of %s may have too many elements: above 7,999 it is an error, and engines differ above 1,000; unpack slices of 100, or loop", exprText(e.Args[0]))
		}
	case "tostring":
		f.digits(e.Args[0], name)
	case "error":
		f.raised(e.Args[0])
	case "assert":
		if len(e.Args) > 1 {
			f.raised(e.Args[1])
		}
	case "redis.error_reply":
		f.errorText(e.Args[0])
	case "table.insert", "table.remove", "table.sort":
		f.libraryState(e.Args[0], fn, true)
	}
}

// raised checks what error or assert raises.
func (f *file) raised(e ast.Expr) {
	if s := f.shape(e); !s.whole || s.number {
		f.report(f.at[e], "raised-text", "only a fixed text may be raised: a table crashes Redis 7.0 to 8.0 and Valkey 8, and data with CR LF splits the reply on Redis 7.2, 7.4 and Valkey 8.0; return nil, {err = 'CODE fixed text'} instead")
	}
}

var codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)

// errorText checks how the text of an error reply begins.
func (f *file) errorText(e ast.Expr) {
	s := f.shape(e)
	if s.data {
		f.report(f.at[e], "error-data", "the error's text contains bytes of the caller or of a key, where a CR LF would split the reply and desync the connection: send fixed text, or clean it with gsub(x, '[^\\32-\\126]', '?')")
	}
	code, _, spelt := strings.Cut(s.lead, " ")
	switch {
	case !spelt && !s.whole || s.number:
	case !codeForm.MatchString(code):
		f.report(f.at[e], "error-code", "an error begins with its code, one word in capitals, not with %q: clients match the first word", code)
	case f.header != nil && code != "RLARG" && code != "RLSTATE" && !slices.ContainsFunc(f.header.Errors, func(e spec.Error) bool { return e.Code == code }):
		f.report(f.at[e], "error-code", "the code %s is not in the header: add `--- @error %s when it is returned`", code, code)
	}
}
