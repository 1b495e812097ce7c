package vet

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// names applies the rules that need only resolved names.
func (c *checker) names(f *file) {
	for _, p := range f.pending {
		c.add(site{f, p.at}, p.rule, p.format, p.args...)
	}
	member := map[*ast.IdentExpr]bool{} // of which a field follows by name
	f.walk(func(node any, fn *function) {
		report := func(node any, rule, format string, args ...any) {
			c.add(site{f, f.at(node)}, rule, format, args...)
		}
		switch node := node.(type) {
		case *ast.IdentExpr:
			if f.refs[node] == nil {
				c.globalRead(f, node, report)
				if libraryMembers[node.Value] != nil && !member[node] && !slices.Contains(f.uses, node.Value) && !f.globalWrites[node] {
					report(node, RuleSandbox, "%s is a value here, which hides what is called of it: write %s.name(...)", node.Value, node.Value)
				}
			}
		case *ast.AttrGetExpr:
			f.libraryMember(node, report)
			if id, ok := node.Object.(*ast.IdentExpr); ok {
				_, named := node.Key.(*ast.StringExpr)
				member[id] = named
			}
		case *ast.AssignStmt:
			f.assignment(node, fn, report)
		case *ast.FuncDefStmt:
			if id, ok := node.Name.Func.(*ast.IdentExpr); ok && f.refs[id] == nil {
				report(id, RuleGlobalWrite, "function %s is a global, and a library cannot make one: write local function %s", id.Value, id.Value)
			}
		case *ast.GotoStmt, *ast.LabelStmt:
			report(node, RuleGoto, "goto is not in Lua 5.1: real servers refuse to load the library; use an if, or a function that returns")
		case *ast.FuncCallExpr:
			f.builtinUse(node, report)
		}
	})
	for _, fn := range f.funcs {
		for _, p := range fn.params {
			if p.used <= 0 && !strings.HasPrefix(p.name, "_") && !c.namesKey(fn, p.name) {
				c.add(site{f, p.pos}, RuleUnusedParameter, "%s is never used in %s: remove it%s", p.name, fn.name, f.fromHeader(fn))
			}
		}
	}
}

// namesKey reports whether an argument of a public function ends the suffix of a key, or is the one with which a call has a key.
func (c *checker) namesKey(fn *function, name string) bool {
	for _, lib := range c.tree.Libraries {
		i := slices.Index(lib.Files, fn.file.src)
		if i >= 0 && fn == fn.file.public(lib.Spec.Functions[i].Name) {
			return slices.ContainsFunc(lib.Spec.Functions[i].Params, func(p spec.Field) bool { return p.SuffixOf == name || p.With == name })
		}
	}
	return false
}

// fromHeader ends a message about an unused parameter: public functions also have a header line to remove.
func (f *file) fromHeader(fn *function) string {
	if f.lib == "" && fn == f.public(strings.TrimSuffix(path.Base(f.src.Path), ".lua")) {
		return " and its line in the header, because callers must send it"
	}
	return ", or begin its name with _"
}

type reporter = func(node any, rule, format string, args ...any)

func (c *checker) globalRead(f *file, id *ast.IdentExpr, report reporter) {
	name := id.Value
	if slices.Contains(f.uses, name) || libraryMembers[name] != nil || baseFunctions[name] || f.globalWrites[id] {
		return
	}
	if why, ok := refusedGlobals[name]; ok {
		report(id, RuleSandbox, "a function must not use %s: %s", name, why)
		return
	}
	if c.libs[name] != nil {
		report(id, RuleGlobalRead, "%s is a lib file that the header does not use: add `--- @use %s`", name, name)
		return
	}
	known := slices.Sorted(maps.Keys(libraryMembers))
	known = append(known, slices.Sorted(maps.Keys(baseFunctions))...)
	for _, v := range f.chunk.vars {
		known = append(known, v.name)
	}
	report(id, RuleGlobalRead, "%s is not defined here, and globals do not exist in a library%s", name, spelling.DidYouMean(name, known))
}

func (f *file) libraryMember(e *ast.AttrGetExpr, report reporter) {
	id, ok := e.Object.(*ast.IdentExpr)
	key, named := e.Key.(*ast.StringExpr)
	if ok && named && f.refs[id] == nil && libraryMembers[id.Value] != nil {
		libraryUse(e, id.Value, key.Value, report)
	}
}

// libraryUse applies the rules about one member of a global table.
func libraryUse(e ast.Expr, table, member string, report reporter) {
	name := table + "." + member
	switch {
	case name == "math.random" || name == "math.randomseed":
		report(e, RuleRandom, "%s yields the same sequence on every fresh server: take random bytes of Go's crypto/rand as an argument", name)
	case name == "math.huge":
		report(e, RulePortable, "math.huge is a finite number in gopher-lua and infinite on real servers: use an explicit bound")
	case name == "redis.setresp":
		report(e, RuleSetresp, "redis.setresp changes what replies look like, and generated clients decode flat RESP2 arrays: return flat values")
	case name == "redis.register_function":
		report(e, RuleGlobalRead, "the generator registers the function: remove this call")
	case !libraryMembers[table][member]:
		report(e, RuleGlobalRead, "%s does not exist in Redis's Lua 5.1%s", name, spelling.DidYouMean(member, slices.Sorted(maps.Keys(libraryMembers[table]))))
	}
}

// inAnyOrder reports whether an assignment's values are the same one after the other: each target is a variable that no other value reads.
func (f *file) inAnyOrder(s *ast.AssignStmt) bool {
	targets := map[*variable]int{}
	for i, lhs := range s.Lhs {
		v := f.named(lhs)
		if _, again := targets[v]; v == nil || v.shared || again {
			return false
		}
		targets[v] = i
	}
	fine := len(s.Lhs) == len(s.Rhs)
	for i, rhs := range s.Rhs {
		f.visit(nil, rhs, func(node any, _ *function) {
			if id, ok := node.(*ast.IdentExpr); ok && f.refs[id] != nil {
				at, target := targets[f.refs[id]]
				fine = fine && (!target || at == i)
			}
		})
	}
	return fine
}

func (f *file) assignment(s *ast.AssignStmt, fn *function, report reporter) {
	if len(s.Lhs) > 1 && len(s.Rhs) > 1 && !f.inAnyOrder(s) {
		report(s, RuleMultipleAssignment, "gopher-lua assigns several existing variables wrongly (a, b = b, a sets both to one value): write one assignment per line, or declare new locals")
	}
	for _, lhs := range s.Lhs {
		id, ok := lhs.(*ast.IdentExpr)
		if !ok {
			continue
		}
		v := f.refs[id]
		switch {
		case v == nil:
			report(id, RuleGlobalWrite, "%s is a global, and a library cannot set one: write local %s", id.Value, id.Value)
		case v.top() && fn.parent != nil:
			report(id, RuleLibraryState, "%s is a local of the library: it keeps its value between calls on this node and is not replicated; use a local of the function, or a key", id.Value)
		}
	}
}

func (f *file) builtinUse(e *ast.FuncCallExpr, report reporter) {
	name := e.Method
	if e.Func != nil {
		name = exprText(e.Func)
		if f.local(e.Func) {
			return
		}
	}
	switch name {
	case "pairs":
		report(e, RulePairs, "pairs visits a table in an order that differs between engines and calls: use ipairs on an array, or sort the names first")
	case "string.find", "string.match", "string.gmatch", "string.gsub", "find", "match", "gmatch", "gsub":
		at := 1
		if e.Func == nil {
			at = 0
		}
		if at < len(e.Args) {
			if p, ok := e.Args[at].(*ast.StringExpr); ok && strings.Contains(strings.ReplaceAll(p.Value, "%%", ""), "%f") {
				report(e.Args[at], RulePortable, "the frontier pattern %%f differs in gopher-lua: write the pattern without it")
			}
		}
	}
}

// local reports whether an expression begins with a name that the file declares.
func (f *file) local(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.AttrGetExpr:
			e = x.Object
		case *ast.IdentExpr:
			return f.refs[x] != nil
		default:
			return true
		}
	}
}
