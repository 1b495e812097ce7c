package annotation

import (
	"errors"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

const mustForm = "`@must cost <= limit: it can never be allowed`"

// readMust reads `@must cost <= limit: it can never be allowed`, an expression of Lua over the fields and a reason; group is that of a
// lib file's rows.
func (r *fieldReader) readMust(rw row, fields []spec.Field, group string) (spec.Rule, bool) {
	expression, reason := cutReason(rw.doc(rw.text))
	out := spec.Rule{Expression: expression, Reason: reason, Group: group, Line: rw.line, Col: rw.textCol}
	switch {
	case expression == "":
		r.add(rw.line, rw.col, RuleMust, "@must is an expression of Lua over arguments, and a reason: "+mustForm)
		return out, false
	case reason == "":
		r.add(rw.line, rw.textCol, RuleMust, "@must has no reason: write one behind a colon, as "+mustForm)
		return out, false
	}
	e, err := rule.Parse(expression, fields, group)
	if err != nil {
		var about *rule.Error
		errors.As(err, &about)
		r.add(rw.line, rw.textCol+max(strings.Index(rw.text, about.At), 0), RuleMust, "%v", err)
		return out, false
	}
	out.Group, out.Fields = e.Group(), e.Paths()
	return out, true
}

// cutReason splits a row at the first colon outside of quotes.
func cutReason(text string) (expression, reason string) {
	var quote rune
	for i, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '"':
			quote = c
		case c == ':':
			return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
		}
	}
	return strings.TrimSpace(text), ""
}

// readRules reads the @must rows of a function, once its arguments are known, behind those of the lib files that declare its rows.
func (r *fieldReader) readRules(fn *spec.Function, own []row) {
	for _, p := range fn.Params {
		lib := r.libs[p.Rows]
		if lib == nil {
			continue
		}
		for _, of := range lib.rules {
			of.Group, of.File, of.Fields = p.Name, lib.File.Path, append([]string(nil), of.Fields...)
			for i := range of.Fields {
				of.Fields[i] = p.Name + of.Fields[i][strings.Index(of.Fields[i], "."):]
			}
			fn.Rules = append(fn.Rules, of)
		}
	}
	for _, rw := range own {
		if one, ok := r.readMust(rw, fn.Params, ""); ok {
			fn.Rules = append(fn.Rules, one)
		}
	}
}
