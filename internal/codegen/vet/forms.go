package vet

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// formTable holds the forms of commands, as COMMAND DOCS of Redis 7.0 gives them. A test compares it with the server, and rewrites it
// with -update. Each line is a name and its form: WORD, <type>, [optional], (one|of), {a block}, and + behind what may be repeated.
//
//go:embed forms_7_0.txt
var formTable string

// newerFormTable holds the same for commands that Redis 7.0 lacks, as COMMAND DOCS of Redis 8 gives them, or of Valkey 9 for its
// own.
//
//go:embed forms_newer.txt
var newerFormTable string

var forms = func() map[string]*form {
	out := map[string]*form{}
	for line := range strings.Lines(formTable + newerFormTable) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		p := &formParser{text: text}
		out[name] = &form{text: text, parts: p.sequence(0)}
	}
	return out
}()

// A form holds the arguments of a command. Optional ones that follow each other may be in any order.
type form struct {
	text  string
	parts []formPart
}

// A formPart is one part of a form.
type formPart struct {
	word     string       // a literal word
	kind     string       // or the type of an argument
	options  [][]formPart // or one of these; one for a block
	optional bool
	repeated bool
}

type formParser struct {
	text string
	at   int
}

// sequence parses parts up to a closing bracket.
func (p *formParser) sequence(end byte) (parts []formPart) {
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == end || end == ')' && c == '|':
			return parts
		case c == ' ':
			p.at++
			continue
		}
		var next formPart
		switch c {
		case '[', '{':
			p.at++
			next = formPart{options: [][]formPart{p.sequence(map[byte]byte{'[': ']', '{': '}'}[c])}, optional: c == '['}
			p.at++
		case '(':
			for p.text[p.at] != ')' {
				p.at++
				next.options = append(next.options, p.sequence(')'))
			}
			p.at++
		case '<':
			to := p.at + strings.IndexByte(p.text[p.at:], '>')
			next.kind = p.text[p.at+1 : to]
			p.at = to + 1
		default:
			from := p.at
			for p.at < len(p.text) && strings.IndexByte(" |)]}+", p.text[p.at]) < 0 {
				p.at++
			}
			next.word = p.text[from:p.at]
		}
		if p.at < len(p.text) && p.text[p.at] == '+' {
			next.repeated = true
			p.at++
		}
		parts = append(parts, next)
	}
	return parts
}

// matches reports whether arguments can have a form. then continues with what is behind the parts.
func matches(parts []formPart, args []value, then func(rest []value) bool) bool {
	if len(parts) == 0 {
		return then(args)
	}
	options := 0
	for options < len(parts) && parts[options].optional {
		options++
	}
	if options > 0 {
		return inAnyOrder(parts[:options], args, func(rest []value) bool { return matches(parts[options:], rest, then) })
	}
	p, more := parts[0], parts[1:]
	onward := func(rest []value) bool { return matches(more, rest, then) }
	once := p
	once.repeated = false
	again := func(rest []value) bool {
		if onward(rest) {
			return true
		}
		return p.repeated && len(rest) < len(args) && matches(append([]formPart{{options: [][]formPart{{once}}, repeated: true}}, more...), rest, then)
	}
	switch {
	case p.word != "":
		return len(args) > 0 && mayBeWord(args[0], p.word) && again(args[1:])
	case p.kind != "":
		return len(args) > 0 && mayBeKind(args[0], p.kind) && again(args[1:])
	}
	for _, option := range p.options {
		if matches(option, args, again) {
			return true
		}
	}
	return false
}

// inAnyOrder reports whether arguments can have some of the options, in an order of the caller's choice.
func inAnyOrder(options []formPart, args []value, then func(rest []value) bool) bool {
	if then(args) {
		return true
	}
	for i, p := range options {
		p.optional = false
		others := slices.Concat(options[:i], options[i+1:])
		if matches([]formPart{p}, args, func(rest []value) bool { return inAnyOrder(others, rest, then) }) {
			return true
		}
	}
	return false
}

func mayBeWord(v value, word string) bool {
	if v.lenient || v.literal == nil {
		return v.lenient || v.may(isStr)
	}
	return strings.EqualFold(*v.literal, word)
}

// isOneOf reports whether a value is surely one of some words.
func isOneOf(v value, words ...string) bool {
	texts := v.texts()
	for _, text := range texts {
		if !slices.Contains(words, strings.ToUpper(text)) {
			return false
		}
	}
	return len(texts) > 0
}

// mayHaveBoth reports whether one of some arguments may be a word, and another one a second word.
func mayHaveBoth(args []value, first, second string) bool {
	for i := range args {
		for j := range args {
			if i != j && mayBeText(args[i], first) && mayBeText(args[j], second) {
				return true
			}
		}
	}
	return false
}

// mayBeText reports whether one of the strings that a value may be is a word.
func mayBeText(v value, word string) bool {
	return slices.ContainsFunc(v.texts(), func(text string) bool { return strings.EqualFold(text, word) })
}

func mayBeKind(v value, kind string) bool {
	if kind != "integer" && kind != "unix-time" || v.literal == nil || v.lenient || !v.may(isStr) {
		return true
	}
	return isInteger(*v.literal) || strings.HasPrefix(*v.literal, "#") // an offset of BITFIELD
}

// isInteger reports whether Redis takes a text for an integer.
func isInteger(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}

// commandForm reports arguments that the command does not take.
func (r *run) commandForm(s *state, e *ast.FuncCallExpr, name string, args []value) {
	f := forms[name]
	if f == nil {
		return
	}
	if r.isOpenList(s, e) {
		r.unproven(s, e, name, f, args)
		return
	}
	if n := len(args); n > 0 && n == len(e.Args)-1 && args[n-1].lenient && r.giver(e.Args[n]) {
		return // of a call that vet does not follow
	}
	if matches(f.parts, args, none) {
		if why := excludes(name, args); why != "" {
			r.report(r.at(e), RuleCommandForm, "%s, and Redis refuses the call: choose one of them", why)
		}
		return
	}
	hint := ""
	if n := len(e.Args); len(args) < n-1 {
		if call, ok := e.Args[n-1].(*ast.FuncCallExpr); ok && (s.facts.has(impossible) || !r.untested(call.Args[0])) {
			return // a count of its own may have been tested
		}
		hint = " (the table of unpack may be empty: test its length before)"
	}
	r.wrongForm(e, name, f, len(args), hint)
}

func (r *run) wrongForm(e *ast.FuncCallExpr, name string, f *form, n int, hint string) {
	of := " in Redis 7.0"
	if newerCommands[name] != "" {
		of = ""
	}
	r.report(r.at(e), RuleCommandForm, "%s with %s is not a form of it%s: %s %s%s", name, countOf(n, "argument"), of, name, f.text, hint)
}

// giver reports whether an expression is a call that may give other than one value.
func (r *run) giver(e ast.Expr) bool {
	call, ok := e.(*ast.FuncCallExpr)
	return ok && !call.AdjustRet && isOpen(call)
}

// isOpen reports whether a call gives any number of values.
func isOpen(e *ast.FuncCallExpr) bool {
	if e.Func == nil {
		return true
	}
	switch exprText(e.Func) {
	case "redis.call", "redis.pcall", "string.format", "math.ceil", "math.floor", "math.max", "math.min", "tonumber", "tostring":
		return false
	}
	return true
}

// excludes returns which options of a command exclude each other, which its form does not say, or "".
func excludes(name string, args []value) string {
	switch name {
	case "ZADD":
		first := 1 // index of the first score
		for first < len(args) && isOneOf(args[first], "NX", "XX", "GT", "LT", "CH", "INCR") {
			first++
		}
		options := args[min(first, 1):first]
		switch {
		case mayHaveBoth(options, "NX", "GT"), mayHaveBoth(options, "NX", "LT"):
			return "ZADD takes NX without GT and LT"
		case mayHaveBoth(options, "GT", "LT"), mayHaveBoth(options, "NX", "XX"):
			return "ZADD takes one of GT and LT, and one of NX and XX"
		}
	case "ZRANGE", "ZRANGESTORE":
		first := 3 // index of the first option
		if name == "ZRANGESTORE" {
			first = 4
		}
		for _, v := range args[min(first, len(args)):] {
			if v.literal == nil && v.may(isStr) {
				return "" // it may be a word
			}
		}
		if wordFrom(first, args, "LIMIT") >= 0 && wordFrom(first, args, "BYSCORE", "BYLEX") < 0 {
			return name + " takes LIMIT only with BYSCORE or BYLEX"
		}
	}
	return ""
}
