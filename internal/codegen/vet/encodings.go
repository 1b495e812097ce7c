package vet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// encoded reports the types and offsets of BITFIELD, and the bits of SETBIT, that no server takes.
func (r *run) encoded(e *ast.FuncCallExpr, name string, args []value) {
	switch name {
	case "BITFIELD", "BITFIELD_RO":
		for i := 1; i+1 < len(args); i++ {
			if !slices.Contains([]string{"GET", "SET", "INCRBY"}, strings.ToUpper(literal(args[i]))) {
				continue
			}
			if text := badText(args[i+1], isBitType); text != "" {
				r.wrongArgument(e, i+2, "%s may be %q, and the types of BITFIELD are u1 to u63 and i1 to i64", text)
			}
			if i+2 >= len(args) {
				continue
			}
			if text := badText(args[i+2], isBitPlace); text != "" {
				r.wrongArgument(e, i+3, "%s may be %q, and an offset of BITFIELD is a whole number from 0 on, or # before one", text)
			}
		}
	case "SETBIT":
		if len(args) < 3 || args[2].lenient {
			return
		}
		in := args[2].interval()
		if text := badText(args[2], func(s string) bool { return s == "0" || s == "1" }); text != "" {
			r.wrongArgument(e, 3, "%s may be %q, and a bit is 0 or 1", text)
		} else if in.known && args[2].may(isNumber) && (in.told || in.ends == bothEnds || args[2].literal != nil) && (in.low < 0 || in.high > 1) && r.sees(args[2]) {
			text := strconv.FormatFloat(in.high, 'f', -1, 64)
			if in.high <= 1 {
				text = strconv.FormatFloat(in.low, 'f', -1, 64)
			}
			r.wrongArgument(e, 3, "%s may be %s, and a bit is 0 or 1", text)
		}
	}
}

// wrongArgument reports argument i, of which format has the expression and the text.
func (r *run) wrongArgument(e *ast.FuncCallExpr, i int, format, text string) {
	node, at := r.origin(argument(e, i))
	r.report(at, RuleCommandForm, format, exprText(node), text)
}

// badText returns a text that a value may be and that is not fit, or "".
func badText(v value, fit func(string) bool) string {
	for _, text := range v.texts() {
		if !fit(text) {
			return text
		}
	}
	return ""
}

func isBitType(text string) bool {
	if len(text) < 2 {
		return false
	}
	bits, _ := strconv.Atoi(text[1:])
	return isInteger(text[1:]) && bits >= 1 && bits <= map[byte]int{'u': 63, 'i': 64}[text[0]]
}

func isBitPlace(text string) bool {
	text = strings.TrimPrefix(text, "#")
	return isInteger(text) && text[0] != '-'
}
