package vet

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
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

// mayBeWord reports whether a value may be a word, with letters of either case.
func mayBeWord(v value, word string) bool {
	if v.may(isOther) || v.kinds == 0 || v.open && v.may(isString) {
		return true
	}
	return slices.ContainsFunc(v.texts, func(t string) bool { return strings.EqualFold(t, word) })
}

// isWord reports whether a value is surely one of some words.
func isWord(v value, words ...string) bool {
	if v.open || len(v.texts) == 0 || len(v.keys) > 0 {
		return false
	}
	return !slices.ContainsFunc(v.texts, func(t string) bool { return !slices.Contains(words, strings.ToUpper(t)) })
}

// hasWord reports whether one of some arguments behind the first is surely one of some words.
func hasWord(args []value, words ...string) bool {
	return len(args) > 0 && indexOfWord(args, 1, words...) >= 0
}

// indexOfWord returns the place of such an argument, or -1.
func indexOfWord(args []value, from int, words ...string) int {
	for i := from; i < len(args); i++ {
		if isWord(args[i], words...) {
			return i
		}
	}
	return -1
}

func mayBeKind(v value, kind string) bool {
	text, ok := v.literal()
	if kind != "integer" && kind != "unix-time" || !ok {
		return true
	}
	return isInteger(text) || strings.HasPrefix(text, "#") // an offset of BITFIELD
}

// isInteger reports whether Redis takes a text for an integer.
func isInteger(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}

// none ends a form.
func none(rest []value) bool { return len(rest) == 0 }

// scoreAt reports whether argument i is a sorted set's score, a coordinate or a distance. Redis reads these as doubles, so every text of the
// number is the same one.
func scoreAt(command string, i int, args []value) bool {
	switch n := len(args); command {
	case "ZADD":
		return i > 0 && (n-i)%2 == 0
	case "GEOADD":
		return i > 0 && (n-i)%3 != 1
	case "GEOSEARCH", "GEOSEARCHSTORE", "ZRANGE", "ZRANGESTORE", "INCRBYFLOAT", "HINCRBYFLOAT":
		return true
	case "ZINCRBY":
		return i == 1
	case "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREMRANGEBYSCORE":
		return i == 1 || i == 2
	}
	return false
}

// excludes returns which options of a command exclude each other, which its form does not say, or "".
func excludes(name string, args []value) string {
	switch name {
	case "ZADD":
		mayHaveBoth := func(list []value, a, b string) bool {
			return indexOfWord(list, 0, a) >= 0 && indexOfWord(list, 0, b) >= 0
		}
		first := 1 // index of the first score
		for first < len(args) && isWord(args[first], "NX", "XX", "GT", "LT", "CH", "INCR") {
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
			if v.open && v.may(isString) {
				return "" // it may be a word
			}
		}
		if indexOfWord(args, first, "LIMIT") >= 0 && indexOfWord(args, first, "BYSCORE", "BYLEX") < 0 {
			return name + " takes LIMIT only with BYSCORE or BYLEX"
		}
	}
	return ""
}
