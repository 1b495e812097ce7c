package luasrc

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
)

var numeral = regexp.MustCompile(`^(0[xX][0-9a-fA-F]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)

// unloadableTokens finds what two neighbours, or one token's own text, tell without the tree.
func (f *File) unloadableTokens() (found diag.List) {
	add := func(t ast.Token, format string, args ...any) {
		found.Add(f.Path, t.Pos.Line, max(t.Pos.Column, 1), RuleSyntax, format, args...)
	}
	groups := 0
	for i, t := range f.Tokens {
		if f.groups(i) {
			if groups++; groups == groupLimit+1 {
				add(t, "more than %d parentheses around one expression: Lua refuses 200 levels of all kinds, so name the inner ones with locals", groupLimit)
			}
		} else if t.Type == ')' && f.groups(f.opener(i)) {
			groups--
		}
		switch t.Type {
		case parse.TNumber:
			if !numeral.MatchString(t.Str) {
				add(t, "%s is not a number in Lua 5.1: write decimal digits, or 0x and hexadecimal ones", strings.TrimSpace(t.Str))
			}
		case parse.TString:
			if escape := f.largeEscape(t); escape != "" {
				add(t, "the escape %s is more than a byte: the greatest is \\255", escape)
			}
		case ',', ';':
			if i == 0 || f.beginsBlock(i-1) || f.Tokens[i-1].Type == ',' || f.Tokens[i-1].Type == ';' {
				add(t, "nothing stands before this %q: Lua 5.1 has no empty statements and no empty fields", rune(t.Type))
			}
		case '(':
			if i > 0 && f.Tokens[i-1].Pos.Line < t.Pos.Line && f.endsCallee(i-1) {
				add(t, "a call whose arguments begin on the next line is ambiguous: put the parenthesis behind the function, or a semicolon before it")
			}
		}
	}
	return found
}

// largeEscape is the first decimal escape above 255 of a string in quotes, as written in the text.
func (f *File) largeEscape(t ast.Token) string {
	if t.Pos.Line < 1 || t.Pos.Line > len(f.Lines) {
		return ""
	}
	line := f.Lines[t.Pos.Line-1]
	at := min(max(t.Pos.Column-1, 0), len(line))
	if at == len(line) || line[at] != '"' && line[at] != '\'' {
		return ""
	}
	quote := line[at]
	for at++; at < len(line) && line[at] != quote; at++ {
		if line[at] != '\\' {
			continue
		}
		at++
		digits := 0
		for digits < 3 && at+digits < len(line) && strings.IndexByte("0123456789", line[at+digits]) >= 0 {
			digits++
		}
		if n, err := strconv.Atoi(line[at : at+digits]); err == nil && n > 255 {
			return line[at-1 : at+digits]
		}
	}
	return ""
}

// beginsBlock reports whether a statement, or the first field of a table, would follow a token.
func (f *File) beginsBlock(i int) bool {
	switch f.Tokens[i].Type {
	case parse.TThen, parse.TDo, parse.TElse, parse.TRepeat, '{':
		return true
	case ')':
		return f.closesParameters(i)
	}
	return false
}

// closesParameters reports whether a closing parenthesis is that of a function's parameters.
func (f *File) closesParameters(i int) bool {
	for i--; i > 0 && f.Tokens[i].Type != '('; i-- {
		if t := f.Tokens[i].Type; t != parse.TIdent && t != ',' && t != parse.T3Comma {
			return false
		}
	}
	for i--; i > 0 && (f.Tokens[i].Type == parse.TIdent || f.Tokens[i].Type == '.' || f.Tokens[i].Type == ':'); i-- {
		continue
	}
	return i >= 0 && f.Tokens[i].Type == parse.TFunction
}

// endsCallee reports whether a call's arguments may follow a token.
func (f *File) endsCallee(i int) bool {
	switch f.Tokens[i].Type {
	case parse.TIdent:
		for i > 1 && f.Tokens[i-1].Type == ',' && f.Tokens[i-2].Type == parse.TIdent {
			i -= 2
		}
		return i == 0 || f.Tokens[i-1].Type != parse.TLocal
	case ')':
		return !f.closesParameters(i)
	case ']':
		return true
	case parse.TString:
		return i > 0 && f.endsCallee(i-1)
	case '}':
		at := f.opener(i)
		return at > 0 && f.endsCallee(at-1)
	}
	return false
}

// groups reports whether a token is a parenthesis that groups: it opens neither arguments nor parameters.
func (f *File) groups(i int) bool {
	return i >= 0 && f.Tokens[i].Type == '(' && (i == 0 || f.Tokens[i-1].Type != parse.TFunction && !f.endsCallee(i-1))
}

// opener returns the bracket that a bracket closes, or -1.
func (f *File) opener(i int) int {
	closing := f.Tokens[i].Type
	opening, depth := map[int]int{')': '(', '}': '{'}[closing], 0
	for ; i >= 0; i-- {
		switch f.Tokens[i].Type {
		case closing:
			depth++
		case opening:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
