package vet

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// checkReturn compares one return of the public function with its header: the results in order, or nil and an error reply.
func (r *run) checkReturn(s *state, stmt *ast.ReturnStmt, vals []value) {
	first := valueAt(vals, 0)
	if len(vals) == 1 && first.lenient {
		return
	}
	if first.only(isNil) && len(vals) > 0 {
		r.checkRefusal(s, stmt, vals)
		return
	}
	want := r.spec.Results
	open := givesMany(stmt) || len(vals) > 0 && vals[len(vals)-1].lenient
	if len(vals) != len(want) && !open {
		r.report(r.at(stmt), RuleResultCount, "%s returns %s here, and its header has %d: %s; an error is `return nil, {err = 'CODE text'}`", r.spec.Name, countOf(len(vals), "value"), len(want), resultNames(want))
		return
	}
	for i, field := range want {
		if i < len(vals) {
			r.checkResult(s, returned(stmt, i), field, field.Name, vals[i])
			switch {
			case (s.stays || s.removed != nil) && refuses(r.spec.Refused, field, vals[i]) || r.over(s, i, field, vals[i]):
				r.refused(s, r.at(stmt), "the refusal")
			case s.stays && r.mayRefuse(s, returned(stmt, i), field, vals[i]):
				r.refused(s, r.at(stmt), "the refusal of some calls")
			}
		}
	}
}

// refuses reports whether a result surely says that the call was refused.
func refuses(by *spec.Refused, result spec.Field, v value) bool {
	switch {
	case by == nil || by.Result != result.Name:
		return false
	case result.Kind == spec.KindBool:
		return v.only(isFalse)
	}
	return v.literal != nil && slices.Contains(by.Values, *v.literal)
}

// givesMany reports whether a return ends in a call with any number of values.
func givesMany(stmt *ast.ReturnStmt) bool {
	if len(stmt.Exprs) == 0 {
		return false
	}
	call, ok := stmt.Exprs[len(stmt.Exprs)-1].(*ast.FuncCallExpr)
	return ok && call.Func != nil && slices.Contains([]string{"unpack", "select", "pcall", "struct.unpack", "cmsgpack.unpack"}, exprText(call.Func))
}

// returned returns the expression of value i. The last expression supplies all further values.
func returned(stmt *ast.ReturnStmt, i int) ast.PositionHolder {
	if len(stmt.Exprs) == 0 {
		return stmt
	}
	return stmt.Exprs[min(i, len(stmt.Exprs)-1)]
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

var luaKinds = map[spec.Kind]kind{
	spec.KindCount: isNumber, spec.KindInt: isNumber, spec.KindFloat: isNumber, spec.KindMicros: isNumber, spec.KindDuration: isNumber, spec.KindTime: isNumber,
	spec.KindBool: isBool, spec.KindText: isStr, spec.KindBytes: isStr, spec.KindJSON: isStr, spec.KindEnum: isStr, spec.KindGroup: isTable, spec.KindList: isTable, spec.KindMap: isTable,
}

// checkResult compares a value with its field in the header.
func (r *run) checkResult(s *state, node ast.PositionHolder, f spec.Field, name string, v value) {
	if v.lenient || v.kinds == isAny {
		return
	}
	at := r.at(node)
	if f.Optional {
		if v.kinds &^= isNil; v.kinds == 0 {
			return
		}
	}
	if v.may(isNil) {
		r.report(at, RuleResultNil, "result %s may be nil here, which ends the reply: set it on every path", name)
		return
	}
	want := luaKinds[f.Kind]
	if v.kinds&^want != 0 {
		hint := ""
		switch {
		case f.Kind == spec.KindBool && v.only(isNumber):
			hint = ": compare it, as x == 1"
		case want == isNumber && v.only(isStr):
			hint = ": make it a number with tonumber, and check it"
		case want == isNumber && v.may(isBool):
			hint = ": test it first"
		case v.may(isFalse) && len(v.reply) > 0 && f.Optional:
			hint = ": a missing key or field is false, so return x or nil"
		case v.may(isFalse) && len(v.reply) > 0:
			hint = ": a missing key or field is false, so test it first"
		}
		r.report(at, RuleResultType, "result %s is of type %s, and this may be %s%s", name, f.Kind, value{kinds: v.kinds &^ want}.describe(), hint)
		return
	}
	switch f.Kind {
	case spec.KindGroup, spec.KindList, spec.KindMap:
		r.checkRows(s, node, f, name, v)
	case spec.KindEnum:
		if v.literal != nil && !slices.Contains(f.Values, *v.literal) {
			r.report(at, RuleResultType, "result %s is one of %s, not '%s'%s", name, strings.Join(f.Values, ", "), *v.literal, spelling.DidYouMean(*v.literal, f.Values))
		}
	default:
		r.resultUnit(node, f, name, v)
		if want == isNumber {
			if !f.Kind.Signed() {
				r.behind(node, name, v)
			}
			if e, ok := node.(ast.Expr); ok && (f.Kind.Signed() || !r.belowZero(e, v)) && !r.outOfBounds(e, f, name, v) {
				r.inRange(e, v, f.Kind.Signed())
			}
		}
		if f.Kind.Integer() && v.may(isFrac) {
			r.report(at, RuleResultFraction, "result %s may be a fraction, and Redis truncates 3.99 to 3: round it once, with math.ceil or math.floor", name)
		}
	}
}

func (r *run) checkRows(s *state, node ast.PositionHolder, f spec.Field, name string, v value) {
	for _, id := range v.objects {
		o := s.get(id)
		if o == nil || o.elem == nil && len(o.items) == 0 {
			continue
		}
		if o.holed {
			r.report(r.at(node), RuleResultNil, "result %s may have a row that is nil, which ends it there: fill it from 1 without a gap", name)
			continue
		}
		row := elementOf(o)
		if f.Kind == spec.KindList {
			r.checkResult(s, node, f.Fields[0], name+"[i]", row)
			continue
		}
		if row.lenient || len(row.objects) == 0 {
			continue
		}
		for _, field := range f.Fields {
			r.checkResult(s, node, field, name+"."+field.Lua, r.rowField(s, row, field.Lua))
		}
	}
}

func (r *run) rowField(s *state, row value, name string) value {
	out := value{}
	for _, id := range row.objects {
		o := s.get(id)
		if o == nil || o.open {
			return anything()
		}
		field, ok := o.field(name)
		if !ok {
			field = of(isNil)
		}
		out = join(out, field)
	}
	return out
}

var codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)

// checkRefusal compares `return nil, {err = 'CODE text'}` with the header.
func (r *run) checkRefusal(s *state, stmt *ast.ReturnStmt, vals []value) {
	failure := valueAt(vals, 1)
	node := returned(stmt, 1)
	r.refused(s, r.at(stmt), "the refusal")
	switch {
	case failure.lenient || failure.kinds == isAny:
		r.hidden = true
		return
	case !failure.only(isTable) || len(vals) != 2:
		r.report(r.at(stmt), RuleResultNil, "an error is returned as `return nil, {err = 'CODE text'}`: the second value here is %s", failure.describe())
		return
	}
	for _, id := range failure.objects {
		o := s.get(id)
		if o == nil {
			r.hidden = true
			continue
		}
		text, ok := o.field("err")
		if !ok || !text.may(isStr) {
			r.report(r.at(node), RuleResultNil, "an error reply needs a string err: {err = 'CODE text'}; without one Redis sends an empty array")
			continue
		}
		r.checkCode(node, text)
	}
}

func (r *run) checkCode(node ast.PositionHolder, text value) {
	begin := text.prefix()
	if text.literal != nil {
		begin = *text.literal + " "
	}
	code, _, whole := strings.Cut(begin, " ")
	if !whole {
		r.hidden = true
		if code == "" {
			return
		}
	}
	if whole && !codeForm.MatchString(code) {
		r.report(r.at(node), RuleErrorCode, "an error begins with its code, one word in capitals, not with %q: clients match the first word", code)
		return
	}
	r.codes[code] = true
	if !whole || code == "RLARG" || code == "RLSTATE" {
		return
	}
	var declared []string
	for _, e := range r.spec.Errors {
		declared = append(declared, e.Code)
	}
	if !slices.Contains(declared, code) {
		r.report(r.at(node), RuleErrorCode, "the code %s is not in the header: add `--- @error %s when it is returned`%s", code, code, spelling.DidYouMean(code, declared))
	}
}

// codesReturned reports declared errors that no path returns. The generated entry itself returns RLARG and RLSTATE.
func (r *run) codesReturned(fn *function) {
	if r.hidden || r.steps > stepLimit {
		return
	}
	for _, e := range r.spec.Errors {
		if e.Code == "RLARG" || e.Code == "RLSTATE" || slices.Contains(slices.Collect(maps.Keys(r.codes)), e.Code) {
			continue
		}
		at := position{r.spec.Line, 1}
		for _, c := range r.file.src.Comments {
			if strings.Contains(c.Text, "@error") && strings.Contains(c.Text, e.Code) {
				at = position{c.Line, c.Col + strings.Index(c.Text, "@error")}
			}
		}
		r.c.add(site{fn.file, at}, nil, RuleErrorCode, "@error %s is declared, but no path returns it: remove the line or return it", e.Code)
	}
}

// fallsOff reports a public function that can end without a return.
func (r *run) fallsOff(fn *function) {
	line := fn.end
	r.c.add(site{fn.file, position{line, fn.file.src.Indent(line)}}, nil, RuleMissingReturn, "a path of %s ends here without a return: return %s", r.spec.Name, resultNames(r.spec.Results))
}

// errorText checks the text of an error reply.
func (r *run) errorText(node ast.Expr, v value) {
	if v.lenient || v.taint&^ofNumbers == 0 {
		return
	}
	r.report(r.at(node), RuleErrorData, "the error's text contains %s, where a CR LF would split the reply and desync the connection: send fixed text, or clean it with gsub(x, '[^\\32-\\126]', '?')", v.taint.describe())
}

func (t taint) describe() string {
	var parts []string
	if t&fromCaller != 0 {
		parts = append(parts, "the caller's bytes")
	}
	if t&fromKey != 0 {
		parts = append(parts, "a key's name")
	}
	if t&fromStore != 0 {
		parts = append(parts, "a key's content")
	}
	return strings.Join(parts, " and ")
}

// raises checks the message argument of error or assert.
func (r *run) raises(e *ast.FuncCallExpr, v value, place ...int) {
	node := argument(e, append(place, 0)[0])
	if len(e.Args) == 0 {
		v = of(isNil)
	}
	switch {
	case v.lenient:
		r.report(r.at(node), RuleRaisedData, "a raised error must have a fixed text: return nil, {err = 'CODE text'} instead")
	case v.may(isTable | isNil | isBool | isFunc):
		r.report(r.at(node), RuleRaisedTable, "only a fixed text may be raised, and this may be %s; a table crashes Redis 7.0 to 8.0 and Valkey 8: return nil, {err = 'CODE text'} instead", value{kinds: v.kinds &^ (isStr | isNumber)}.describe())
	case !v.fixed:
		r.report(r.at(node), RuleRaisedData, "a raised error must have a fixed text, because data with CR LF splits the reply on Redis 7.2, 7.4 and Valkey 8.0: return nil, {err = 'CODE fixed text'} instead")
	}
}
