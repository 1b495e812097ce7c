package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// mostDigits is the most digits of a whole number that Lua surely holds exactly.
const mostDigits = 15

// matchesDigits learns that a text is a whole number, from a match or find that held, of a pattern of digits only. It reports whether the
// text changed.
func (r *run) matchesDigits(s *state, e *ast.FuncCallExpr) bool {
	subject, args := e.Receiver, e.Args
	name := "string." + e.Method
	if e.Func != nil && len(args) > 0 {
		name, subject, args = exprText(e.Func), args[0], args[1:]
	}
	if name != "string.match" && name != "string.find" || len(args) != 1 {
		return false
	}
	pattern, ok := args[0].(*ast.StringExpr)
	if !ok || !onlyDigits(pattern.Value) {
		return false
	}
	v, ok := r.peek(s, subject)
	if !ok || v.lenient || !v.only(isStr) || v.digits {
		return false
	}
	v.digits = true
	r.replace(s, subject, v)
	return true
}

// onlyDigits reports whether a text that matches a pattern is one of 1 to 15 digits, so that it is a number that Lua holds exactly.
func onlyDigits(pattern string) bool {
	rest, begins := strings.CutPrefix(pattern, "^")
	rest, ends := strings.CutSuffix(rest, "$")
	if !begins || !ends {
		return false
	}
	if rest = strings.TrimSuffix(strings.TrimPrefix(rest, "("), ")"); strings.ContainsAny(rest, "()") {
		return false
	}
	least, most := 0, 0
	for rest != "" {
		item := 1
		switch {
		case strings.HasPrefix(rest, "%d"):
			item = 2
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 2 || !digitSet(rest[1:end]) {
				return false
			}
			item = end + 1
		case rest[0] < '0' || rest[0] > '9':
			return false
		}
		rest = rest[item:]
		most++
		if strings.HasPrefix(rest, "?") {
			rest = rest[1:]
			continue
		}
		least++
	}
	return least >= 1 && most <= mostDigits
}

// digitSet reports whether a set has digits only.
func digitSet(set string) bool {
	for c := range 256 {
		if has, ok := inSet(set, byte(c)); !ok || has && (c < '0' || c > '9') {
			return false
		}
	}
	return set[0] != '^'
}
