package vet

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// header gives a public function's parameters, and those of prepare, what the generated entry passes.
func (c *checker) header(lib *source.Library, i int) {
	contract := &lib.Spec.Functions[i]
	fn := c.files[lib.Files[i]].public(contract.Name)
	if fn == nil {
		return
	}
	fn.contract = contract
	var args []value
	for p := range contract.Params {
		param := &contract.Params[p]
		args = append(args, c.argument(param))
		if param.Kind != spec.KindPacked {
			continue
		}
		for k := range param.Fields {
			if key := &param.Fields[k]; key.Kind == spec.KindKey {
				list := c.object(key)
				list.reply, list.row, list.least, list.most = "header", param.Name, int(param.Min), int(param.Max)
				c.grow(&list.elem, c.argument(key))
				args = append(args, table(list))
			}
		}
		if rows := c.libs[param.Rows]; param.Prepare && rows != nil && rows.members["prepare"] != nil {
			row := c.object(param).elem.value
			list := c.object(aboveOf{param})
			c.grow(&list.elem, row)
			above := table(list)
			for n, v := range []value{row, above} {
				if prepare := rows.members["prepare"]; n < len(prepare.params) {
					c.grow(&prepare.params[n].all, v)
				}
			}
		}
	}
	for n, p := range fn.params {
		if n < len(args) {
			c.grow(&p.all, args[n])
		}
	}
}

// argument returns what a parameter, or a field of a row, may be.
func (c *checker) argument(p *spec.Field) value {
	v := value{arg: p, open: true}
	switch p.Kind {
	case spec.KindKey:
		v = value{kinds: isString, keys: []*spec.Field{p}}
		if p.Several {
			list := c.object(p)
			list.reply, list.least, list.most = "header", int(p.Min), int(p.Max)
			c.grow(&list.elem, v)
			return table(list)
		}
		if p.With != "" {
			v.kinds |= isNil
		}
		return v
	case spec.KindBool:
		v = of(isBool)
		v.arg = p
		return v
	case spec.KindText, spec.KindBytes, spec.KindJSON:
		v.kinds, v.traits = isString, fromCaller
	case spec.KindEnum:
		v.kinds, v.texts, v.open, v.arg = isString, p.Values, false, nil
		if len(p.Values) > mostTexts {
			v.texts, v.open = nil, true
		}
	case spec.KindList, spec.KindGroup, spec.KindPacked:
		list := c.object(p)
		list.reply, list.least, list.most = "header", int(p.Min), int(p.Max)
		if p.Kind == spec.KindList {
			c.grow(&list.elem, c.argument(&p.Fields[0]))
			v = table(list)
			break
		}
		row := c.object(rowOf{p})
		if p.Rows != "" {
			row = c.object(p.Rows) // all functions share them
		}
		if p.Kind == spec.KindPacked {
			row.row, list.row = p.Name, p.Name
		}
		for f := range p.Fields {
			if p.Kind == spec.KindPacked && p.Fields[f].Kind == spec.KindKey {
				continue
			}
			field := &p.Fields[f]
			c.grow(row.fieldAt(field.Lua), c.argument(field))
			row.set[field.Lua] = true
		}
		c.grow(&list.elem, table(row))
		v = table(list)
	default:
		v.kinds = isNumber
		switch p.Kind {
		case spec.KindDuration:
			v.unit, v.traits = "us", span
		case spec.KindTime:
			v.unit, v.traits = "us", long
		case spec.KindFloat:
			v.traits = long
		}
	}
	if _, given := p.DefaultWord(); p.Optional && !given {
		v.kinds |= isNil
	}
	return v
}

type (
	rowOf   struct{ *spec.Field }
	aboveOf struct{ *spec.Field }
)

// withKeys ties keys that a call has only with an argument to that argument.
func (w *pass) withKeys(contract *spec.Function) {
	for a := range contract.Params {
		arg := &contract.Params[a]
		var vars []*variable
		for _, p := range w.fn.params {
			if p.name == arg.Lua {
				vars = append(vars, p)
			}
		}
		for _, key := range contract.Keys() {
			for _, p := range w.fn.params {
				if key.With == arg.Name && p.name == key.Lua {
					vars = append(vars, p)
				}
			}
		}
		if len(vars) < 2 {
			continue
		}
		var absent, there []value
		for _, p := range vars {
			none := of(isNil)
			if p.name == arg.Lua && !arg.Optional {
				none = p.all.value
			}
			absent, there = append(absent, none), append(there, p.all.value.without(isNil))
		}
		w.bind(vars, []tuple{{vals: absent}, {vals: there}})
	}
}

var luaKinds = map[spec.Kind]kinds{
	spec.KindCount: isNumber, spec.KindInt: isNumber, spec.KindFloat: isNumber, spec.KindMicros: isNumber, spec.KindDuration: isNumber, spec.KindTime: isNumber,
	spec.KindBool: isBool, spec.KindText: isString, spec.KindBytes: isString, spec.KindJSON: isString, spec.KindEnum: isString,
	spec.KindGroup: isTable, spec.KindList: isTable,
}

// result compares one return of a public function with its header: the results in order, or nil and an error.
func (w *pass) result(s *ast.ReturnStmt, t tuple) {
	want := w.fn.contract.Results
	first := t.at(0)
	if len(t.vals) > 0 && first.only(isNil) {
		w.refusal(s, t)
		return
	}
	if len(t.vals) != len(want) && t.rest == nil && !slices.ContainsFunc(t.vals, func(v value) bool { return v.kinds == 0 }) {
		w.report(s, RuleResultCount, "%s returns %s here, and its header has %d: %s; an error is `return nil, {err = 'CODE text'}`", w.fn.contract.Name, countOf(len(t.vals), "value"), len(want), resultNames(want))
		return
	}
	for i := range want {
		if i < len(t.vals) {
			w.resultValue(returnedAt(s, i), &want[i], t.vals[i])
		}
	}
}

// returnedAt returns the expression of value i. The last expression supplies all further values.
func returnedAt(s *ast.ReturnStmt, i int) ast.Expr {
	return s.Exprs[min(i, len(s.Exprs)-1)]
}

// resultValue compares the types of one result with the header. Running checks what is in it.
func (w *pass) resultValue(e ast.Expr, f *spec.Field, v value) {
	bad := v.kinds &^ (luaKinds[f.Kind] | isDoubt)
	if v.may(luaKinds[f.Kind]) && !slices.ContainsFunc(v.objs, func(o *object) bool { return o.fields["err"] == nil || o.failed }) {
		bad &^= isTable // the refusal of another return
	}
	if f.Optional {
		bad &^= isNil
	}
	hint := ""
	switch {
	case !v.known():
	case bad&isNil != 0:
		w.report(e, RuleResultNil, "result %s may be nil here, which ends the reply: set it on every path", f.Name)
	case bad == 0 && f.Kind == spec.KindEnum && !v.open:
		for _, text := range v.texts {
			if !slices.Contains(f.Values, text) {
				w.report(e, RuleResultType, "result %s is one of %s, not '%s'%s", f.Name, strings.Join(f.Values, ", "), text, spelling.DidYouMean(text, f.Values))
			}
		}
	case bad == 0 && (f.Kind == spec.KindDuration || f.Kind == spec.KindTime) && v.unit != "" && v.unit != "us":
		w.report(e, RuleResultType, "result %s is in microseconds, and this is in %s: convert it", f.Name, unitNames[v.unit])
	case bad == 0:
	case f.Kind == spec.KindBool && bad&isNumber != 0:
		hint = ": compare it, as x == 1"
	case luaKinds[f.Kind] == isNumber && bad == isString:
		hint = ": make it a number with tonumber, and check it"
	case v.may(isFalse) && v.reply != "" && f.Optional:
		hint = ": a missing key or field is false, so return x or nil"
	case v.may(isFalse):
		hint = ": a missing key or field is false, so test it first"
	}
	if v.known() && bad&^isNil != 0 {
		w.report(e, RuleResultType, "result %s is of type %s, and this may be %s%s", f.Name, f.Kind, bad.describe(), hint)
	}
}

var codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)

// refusal compares `return nil, {err = 'CODE text'}` with the header.
func (w *pass) refusal(s *ast.ReturnStmt, t tuple) {
	failure := t.at(1)
	if t.rest != nil || !failure.known() {
		return
	}
	if !failure.may(isTable) || len(t.vals) != 2 {
		w.report(s, RuleResultNil, "an error is returned as `return nil, {err = 'CODE text'}`: the second value here is %s", failure.kinds.describe())
		return
	}
	for _, o := range failure.objs {
		text := o.field("err")
		if o.fields["err"] == nil {
			w.report(returnedAt(s, 1), RuleResultNil, "an error reply needs a string err: {err = 'CODE text'}; without one Redis sends an empty array")
			continue
		}
		codes, sure := codesOf(text)
		for _, code := range codes {
			declared := []string{"RLARG", "RLSTATE"}
			for _, e := range w.fn.contract.Errors {
				declared = append(declared, e.Code)
			}
			if sure && codeForm.MatchString(code) && !slices.Contains(declared, code) {
				w.report(returnedAt(s, 1), RuleErrorCode, "the code %s is not in the header: add `--- @error %s when it is returned`%s", code, code, spelling.DidYouMean(code, declared))
			}
		}
	}
}

// codesOf returns the first words that an error's text may have, and whether they are whole.
func codesOf(text value) (codes []string, sure bool) {
	all := text.texts
	if text.open {
		if !strings.Contains(text.lead, " ") {
			return []string{text.lead}, false
		}
		all = append(slices.Clone(all), text.lead)
	}
	for _, t := range all {
		code, _, _ := strings.Cut(t, " ")
		codes = append(codes, code)
	}
	return codes, true
}

// errorTable checks the text of a table that is an error reply.
func (w *pass) errorTable(e *ast.TableExpr) {
	for _, f := range e.Fields {
		if key, ok := f.Key.(*ast.StringExpr); ok && key.Value == "err" {
			w.errorText(f.Value, w.one(f.Value))
		}
	}
}

func (w *pass) errorText(e ast.Expr, text value) {
	if text.kinds == 0 {
		return
	}
	if w.fn.flow.codes == nil {
		w.fn.flow.codes = map[string]bool{}
	}
	codes, sure := codesOf(text)
	for _, code := range codes {
		if !sure {
			code = hiddenCode
		} else if !codeForm.MatchString(code) {
			w.report(e, RuleErrorCode, "an error begins with its code, one word in capitals, not with %q: clients match the first word", code)
		}
		w.fn.flow.codes[code] = true
	}
	if text.traits&(fromCaller|fromKey) != 0 || len(text.keys) > 0 {
		data := func(v value) bool { return v.traits&(fromCaller|fromKey) != 0 || len(v.keys) > 0 }
		for _, p := range w.blame(e, data) {
			w.reportAt(p.site, RuleErrorData, "the error's text contains bytes of the caller or of a key, where a CR LF would split the reply and desync the connection: send fixed text, or clean it with gsub(x, '[^\\32-\\126]', '?')")
		}
	}
}

const hiddenCode = "?"

// codesReturned reports declared errors that no function makes. The generated entry itself returns RLARG and RLSTATE.
func (c *checker) codesReturned(fn *function, contract *spec.Function, codes map[string]bool) {
	for _, e := range contract.Errors {
		if e.Code == "RLARG" || e.Code == "RLSTATE" || codes[e.Code] || codes[hiddenCode] {
			continue
		}
		at := position{contract.Line, 1}
		for _, comment := range fn.file.src.Comments {
			if strings.Contains(comment.Text, "@error") && strings.Contains(comment.Text, e.Code) {
				at = position{comment.Line, comment.Col + strings.Index(comment.Text, "@error")}
			}
		}
		c.add(site{fn.file, at}, RuleErrorCode, "@error %s is declared, but nothing returns it: remove the line or return it", e.Code)
	}
}

// raises checks what error or assert may raise.
func (w *pass) raises(e *ast.FuncCallExpr, name string, exprs []ast.Expr, args []value) {
	at := 0
	if name == "assert" {
		at = 1
		if len(exprs) < 2 {
			return // "assertion failed!"
		}
	}
	v, node := of(isNil), ast.Expr(e)
	if at < len(args) {
		v, node = args[at], exprs[min(at, len(exprs)-1)]
	}
	switch {
	case v.kinds == 0:
	case v.kinds&^isPlain != 0:
		w.report(node, RuleRaisedTable, "only a fixed text may be raised, and this may be %s; a table crashes Redis 7.0 to 8.0 and Valkey 8: return nil, {err = 'CODE text'} instead", (v.kinds &^ isPlain).describe())
	case v.open || len(v.keys) > 0:
		w.report(node, RuleRaisedData, "a raised error must have a fixed text, because data with CR LF splits the reply on Redis 7.2, 7.4 and Valkey 8.0: return nil, {err = 'CODE fixed text'} instead")
	}
}

func countOf(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func resultNames(fields []spec.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Lua
	}
	return strings.Join(names, ", ")
}

func keysOf[V any](m map[string]V) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// preparing returns the functions that prepare calls, which runs once for many calls.
func (c *checker) preparing() map[*function]map[*variable]bool {
	seen := map[*function]map[*variable]bool{}
	for _, lib := range c.tree.Libraries {
		for i := range lib.Spec.Functions {
			for _, p := range lib.Spec.Functions[i].Params {
				if rows := c.libs[p.Rows]; p.Prepare && rows != nil && rows.members["prepare"] != nil {
					called(rows.members["prepare"], nil, seen)
				}
			}
		}
	}
	return seen
}

// libraryState reports a statement that changes a table that outlives the call.
func (w *pass) libraryState(lhs, of ast.Expr, object value) {
	if w.fn.parent == nil || !w.final {
		return
	}
	v := w.file.base(of)
	if v == nil {
		if id, ok := of.(*ast.IdentExpr); ok && slices.Contains(w.file.uses, id.Value) {
			w.report(lhs, RuleLibraryState, "%s is a table of the library: it keeps its value between calls on this node, and no replica has it; use a local, or a key", id.Value)
		}
		return
	}
	if v.top() {
		if !w.ignore.silences(RuleLibraryState, site{w.file, v.pos}) {
			w.report(lhs, RuleLibraryState, "%s is a table of the library: it keeps its value between calls on this node, and no replica has it; use a local or a key, or say at its declaration why it may with `-- rlfunc:ignore library-state reason`", v.name)
		}
		return
	}
	for _, o := range object.objs {
		if o.top {
			w.report(lhs, RuleLibraryState, "this changes a table that is made while the library loads: it keeps its value between calls on this node, and no replica has it; use a local or a key")
			return
		}
		if o.row != "" && w.prepared[w.fn] == nil {
			w.report(lhs, RuleLibraryState, "rows of %s are cached for every call that sends the same pack: keep what belongs to a call in another table", o.row)
			return
		}
	}
}
