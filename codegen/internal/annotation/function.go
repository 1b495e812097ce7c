package annotation

import (
	"path"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// redisFlags are the flags that FUNCTION LOAD knows and that make sense here; allow-cross-slot-keys does not, as all
// keys of a call share their tag.
var redisFlags = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster"}

// Function reads the contract of the public function of a file; libs are the lib files by name. The spec is usable only without
// findings.
func Function(f *luasrc.File, libs map[string]*Lib) (spec.Function, diag.List) {
	var found diag.List
	name := strings.TrimSuffix(path.Base(f.Path), ".lua")
	fn := spec.Function{Name: name, File: f.Path, Flags: []string{}, Errors: []spec.Error{}, Uses: []string{}, States: []spec.State{}}
	if !nameForm.MatchString(name) || isKeyword(name) {
		found.Add(f.Path, 1, 1, RuleName, "the file's name is the function's: %q is not a name of whole words in snake_case", name)
		return fn, found
	}
	if name == "fcall" {
		found.Add(f.Path, 1, 1, RuleName, "no function is called fcall: the generated client has a method of that name")
		return fn, found
	}
	def, body := public(f, name, &found)
	if def == nil {
		return fn, found
	}
	fn.Line = def.Line()
	h := readHeader(f, def.Line()-1, &found)
	stray(f, h, &found)
	if h == nil {
		found.Add(f.Path, def.Line(), f.Indent(def.Line()), RuleHeader, "%s has no header: write --- lines directly above it", name)
		return fn, found
	}
	fn.Summary, fn.Doc = h.summary, h.doc
	if h.summary == "" {
		found.Add(f.Path, h.first, 1, RuleHeader, "the header begins with a sentence that says what %s does", name)
	} else if !strings.HasSuffix(h.summary, ".") {
		found.Add(f.Path, h.first, 1, RuleHeader, "the first paragraph is a sentence and ends with a period")
	}
	r := &fieldReader{path: f.Path, found: &found, libs: libs}
	for _, rw := range h.rows {
		readFunctionRow(r, rw, &fn)
	}
	r.checkRecords(h.rows, &fn)
	r.checkGroups(fn.Params)
	r.checkGroups(fn.Results)
	r.checkWith(fn.Params)
	for _, k := range fn.Keys() {
		r.checkEnds(k, fn.Params, RuleKeys, k.Name+" ends in %s, which is not a text argument without a default")
	}
	r.checkSubject(fn.Params)
	r.checkEnums(fn.Params, fn.Results)
	if !slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return !slices.Contains(BesideContract, d.Rule) }) {
		r.readRules(&fn, ofTag(h.rows, tagMust))
	}
	useRows(&fn)
	documentShared(&fn)
	before := len(found)
	ofRows := func(p spec.Field) bool { return fn.Subject != "" && p.Min > 0 && len(p.Keys()) > 0 }
	if len(fn.Keys()) == 0 && !slices.ContainsFunc(fn.Params, ofRows) && before == 0 {
		found.Add(f.Path, fn.Line, f.Indent(fn.Line), RuleKeys, "%s has no @key, nor a @subject and a group[1..] whose rows have keys: a call is routed by its first key", name)
	}
	if len(fn.Results) == 0 && before == 0 {
		found.Add(f.Path, fn.Line, f.Indent(fn.Line), RuleRow, "%s has no @result", name)
	}
	if before == 0 {
		checkParams(f, fn, body.ParList, &found)
	}
	return fn, found
}

// useRows adds the lib files that declare rows of the function to those that it uses.
func useRows(fn *spec.Function) {
	for _, f := range slices.Concat(fn.Params, fn.Results) {
		if f.Rows != "" && !slices.Contains(fn.Uses, f.Rows) {
			fn.Uses = append(fn.Uses, f.Rows)
		}
	}
}

func readFunctionRow(r *fieldReader, rw row, fn *spec.Function) {
	switch rw.tag {
	case tagKey, tagArg:
		fn.Params = r.read(rw, fn.Params)
	case tagResult:
		fn.Results = r.read(rw, fn.Results)
	case tagSubject:
		readSubject(r, rw, fn)
	case tagRefused:
		readRefused(r, rw, fn)
	case tagRecords, tagMust: // once all fields are known
	case tagUse:
		readUse(r, rw, &fn.Uses)
	case tagFlags:
		readFlags(r, rw, fn)
	case tagError:
		readError(r, rw, fn)
	case tagState:
		readState(r, rw, &fn.States)
	case tagLibrary, tagLib:
		r.add(rw.line, rw.col, RuleStrayTag, "@%s does not belong in a function's header", rw.tag)
	default:
		unknownTag(r, rw)
	}
}

// otherTags are what other tools call our tags.
var otherTags = map[string]string{"param": "arg", "params": "arg", "parameter": "arg", "return": "result", "returns": "result", "throws": "error", "raise": "error"}

func unknownTag(r *fieldReader, rw row) {
	hint := spelling.DidYouMean(rw.tag, tags)
	if ours, ok := otherTags[rw.tag]; ok {
		hint = "; did you mean " + ours + "?"
	}
	r.add(rw.line, rw.col, RuleUnknownTag, "unknown tag @%s%s (tags: %s)", rw.tag, hint, strings.Join(tags, ", "))
}

func readUse(r *fieldReader, rw row, uses *[]string) {
	names := strings.Fields(strings.ReplaceAll(rw.text, ",", " "))
	if len(names) == 0 {
		r.add(rw.line, rw.col, RuleUse, "@use names one or more files of lib/")
	}
	for _, name := range names {
		col := rw.textCol + strings.Index(rw.text, name)
		if slices.Contains(*uses, name) {
			r.add(rw.line, col, RuleUse, "%s is used already", name)
			continue
		}
		*uses = append(*uses, name)
	}
}

func readFlags(r *fieldReader, rw row, fn *spec.Function) {
	names := strings.Fields(strings.ReplaceAll(rw.text, ",", " "))
	if len(names) == 0 {
		r.add(rw.line, rw.col, RuleFlags, "@flags names one or more of %s", strings.Join(redisFlags, ", "))
	}
	for _, name := range names {
		col := rw.textCol + strings.Index(rw.text, name)
		switch {
		case !slices.Contains(redisFlags, name):
			r.add(rw.line, col, RuleFlags, "unknown flag %q%s (flags: %s)", name, spelling.DidYouMean(name, redisFlags), strings.Join(redisFlags, ", "))
		case fn.Has(name):
			r.add(rw.line, col, RuleFlags, "flag %s is repeated", name)
		default:
			fn.Flags = append(fn.Flags, name)
		}
	}
}

// readSubject reads `@subject the account that pays`.
func readSubject(r *fieldReader, rw row, fn *spec.Function) {
	switch text := rw.doc(rw.text); {
	case text == "":
		r.add(rw.line, rw.col, RuleRow, "@subject has no text: say what the call is about, such as the account that pays")
	case fn.Subject != "":
		r.add(rw.line, rw.col, RuleDuplicate, "@subject is repeated")
	default:
		fn.Subject = text
	}
}

func readError(r *fieldReader, rw row, fn *spec.Function) {
	code, rest, col, _ := word(rw.text, rw.textCol)
	doc := rw.doc(rest)
	switch {
	case !codeForm.MatchString(code):
		r.add(rw.line, col, RuleErrors, "an error's code is one word in capitals, as RLSTATE, got %q", code)
	case doc == "":
		r.add(rw.line, col, RuleErrors, "@error %s does not say when it is returned", code)
	case slices.ContainsFunc(fn.Errors, func(e spec.Error) bool { return e.Code == code }):
		r.add(rw.line, col, RuleDuplicate, "@error %s is repeated", code)
	default:
		fn.Errors = append(fn.Errors, spec.Error{Code: code, Doc: doc})
	}
}

// public finds the function that the file is named after.
func public(f *luasrc.File, name string, found *diag.List) (*ast.LocalAssignStmt, *ast.FunctionExpr) {
	var def *ast.LocalAssignStmt
	var body *ast.FunctionExpr
	tables := map[string]bool{}
	for _, stmt := range f.Chunk {
		local, ok := stmt.(*ast.LocalAssignStmt)
		if table, _ := defined(stmt); tables[table] {
			continue
		}
		if !ok {
			found.Add(f.Path, stmt.Line(), f.Indent(stmt.Line()), RuleFile,
				"only local functions, local constants and functions of a local table stand at the top of a function file")
			continue
		}
		for i, e := range local.Exprs {
			if _, table := e.(*ast.TableExpr); table && i < len(local.Names) {
				tables[local.Names[i]] = true
			}
		}
		if len(local.Names) != 1 || local.Names[0] != name || len(local.Exprs) != 1 {
			continue
		}
		if fun, ok := local.Exprs[0].(*ast.FunctionExpr); ok {
			if def != nil {
				found.Add(f.Path, local.Line(), f.Indent(local.Line()), RuleFile, "%s is defined already on line %d", name, def.Line())
				continue
			}
			def, body = local, fun
		}
	}
	if def == nil {
		found.Add(f.Path, 1, 1, RuleFile, "no `local function %s`: one file is one public function, and is named after it", name)
	}
	return def, body
}

// defined returns the table and the name of a statement `function t.name() ... end` or `t.name = function() ... end`.
func defined(stmt ast.Stmt) (table, name string) {
	var target ast.Expr
	switch stmt := stmt.(type) {
	case *ast.FuncDefStmt:
		target = stmt.Name.Func
	case *ast.AssignStmt:
		if len(stmt.Lhs) != 1 || len(stmt.Rhs) != 1 {
			return "", ""
		}
		if _, isFunction := stmt.Rhs[0].(*ast.FunctionExpr); isFunction {
			target = stmt.Lhs[0]
		}
	}
	if field, ok := target.(*ast.AttrGetExpr); ok {
		object, isName := field.Object.(*ast.IdentExpr)
		key, isText := field.Key.(*ast.StringExpr)
		if isName && isText {
			return object.Value, key.Value
		}
	}
	return "", ""
}

func checkParams(f *luasrc.File, fn spec.Function, list *ast.ParList, found *diag.List) {
	got := list.Names
	if list.HasVargs {
		found.Add(f.Path, fn.Line, f.Column(fn.Line, "...", 0), RuleParams, "%s takes named parameters, not ...", fn.Name)
	}
	params := luaParams(fn)
	for i, p := range params {
		if slices.ContainsFunc(params[:i], func(q spec.Field) bool { return p.Lua == q.Lua }) {
			found.Add(f.Path, p.Line, p.Col, RuleDuplicate, "%s would be the name of two parameters, as the keys of a group's rows are parameters behind it: rename one", p.Lua)
			return
		}
	}
	for i, p := range params {
		if i >= len(got) {
			found.Add(f.Path, p.Line, p.Col, RuleParams, "%s is in the header but not a parameter: add %s as parameter %d", p.Name, p.Lua, i+1)
			continue
		}
		switch got[i] {
		case p.Lua:
		case p.Name:
			found.Add(f.Path, fn.Line, paramColumn(f, fn, got[i]), RuleParams, "parameter %s needs the unit of its type in its name: call it %s", got[i], p.Lua)
		default:
			found.Add(f.Path, fn.Line, paramColumn(f, fn, got[i]), RuleParams,
				"parameter %d is %s, and the header's row %d is %s: order is position, so call it %s", i+1, got[i], i+1, p.Name, p.Lua)
		}
	}
	for _, extra := range got[min(len(got), len(params)):] {
		found.Add(f.Path, fn.Line, paramColumn(f, fn, extra), RuleParams, "parameter %s has no line in the header%s", extra, asUnit(extra))
	}
}

// paramColumn returns the column of a parameter, which may be named like the function before it.
func paramColumn(f *luasrc.File, fn spec.Function, name string) int {
	if name == fn.Name {
		return f.Column(fn.Line, name, 1)
	}
	return f.Column(fn.Line, name, 0)
}

// luaParams are the parameters of the Lua function: the header's keys, arguments and groups, and after a group the keys of its
// rows, as rows that are kept hold none.
func luaParams(fn spec.Function) (params []spec.Field) {
	for _, p := range fn.Params {
		params = append(params, p)
		if p.Kind != spec.KindGroup {
			continue
		}
		for _, k := range p.Keys() {
			params = append(params, spec.Field{Name: p.Name + "." + k.Name, Lua: p.KeyName(k), Line: p.Line, Col: p.Col})
		}
	}
	return params
}

func asUnit(lua string) string {
	switch {
	case strings.HasSuffix(lua, "_us"):
		return ": add `--- @arg " + strings.TrimSuffix(lua, "_us") + " duration ...`"
	case strings.HasSuffix(lua, "_micros"):
		return ": add `--- @arg " + strings.TrimSuffix(lua, "_micros") + " micros ...`"
	}
	return ": add `--- @arg " + lua + " TYPE ...`"
}
