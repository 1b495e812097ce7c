package vet

import (
	_ "embed"
	"regexp"
	"slices"
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

// A form is what a command takes.
type form struct {
	text    string
	pattern *regexp.Regexp // of arguments as encode writes them
}

var forms = func() map[string]*form {
	out := map[string]*form{}
	for line := range strings.Lines(formTable + newerFormTable) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		r := &formReader{text: text}
		out[name] = &form{text: text, pattern: regexp.MustCompile("^" + r.sequence(0) + "$")}
	}
	return out
}()

// A formReader turns the notation of the table into a regular expression.
type formReader struct {
	text string
	at   int
}

// sequence reads parts up to a closing bracket.
func (r *formReader) sequence(end byte) string {
	var out string
	var options []string
	for r.at < len(r.text) && r.text[r.at] != end && (end != ')' || r.text[r.at] != '|') {
		c := r.text[r.at]
		if c == ' ' {
			r.at++
			continue
		}
		var part string
		switch c {
		case '[', '{':
			r.at++
			part = "(?:" + r.sequence(c+2) + ")"
			r.at++
		case '(':
			var choices []string
			for r.text[r.at] != ')' {
				r.at++
				choices = append(choices, r.sequence(')'))
			}
			part = "(?:" + strings.Join(choices, "|") + ")"
			r.at++
		default:
			from := r.at
			for r.at < len(r.text) && strings.IndexByte(" |)]}+", r.text[r.at]) < 0 {
				r.at++
			}
			part = argumentPattern(r.text[from:r.at])
		}
		if r.at < len(r.text) && r.text[r.at] == '+' {
			part = "(?:" + part + ")+"
			r.at++
		}
		if c == '[' {
			options = append(options, part)
			continue
		}
		out += inAnyOrder(options) + part
		options = nil
	}
	return out + inAnyOrder(options)
}

func argumentPattern(part string) string {
	switch {
	case part == "<integer>" || part == "<unix-time>":
		return `(?:=-?(?:0|[1-9]\d*);|=#[^;]*;|[?!];)`
	case part[0] == '<':
		return `(?:=[^;]*;|[?!];)`
	}
	return "(?:=(?i:" + regexp.QuoteMeta(part) + ");|[?];)"
}

// inAnyOrder is for options that follow each other: some of them, in an order of the caller's choice.
func inAnyOrder(options []string) string {
	if len(options) == 0 {
		return ""
	}
	var ways []string
	for i, option := range options {
		if len(options) > 4 {
			ways = append(ways, option)
		} else {
			ways = append(ways, option+inAnyOrder(slices.Concat(options[:i], options[i+1:])))
		}
	}
	if all := "(?:" + strings.Join(ways, "|") + ")"; len(options) <= 4 {
		return all + "?"
	} else {
		return all + "*"
	}
}

// encode writes arguments for a form's pattern: = and a literal, ? for what may be any word, ! for what is none.
func encode(args []value) string {
	var out strings.Builder
	for _, v := range args {
		literal, ok := v.literal()
		switch {
		case ok:
			out.WriteString("=" + strings.ReplaceAll(literal, ";", "_") + ";")
		case v.kinds == 0 || v.may(isOther|isString) && len(v.keys) == 0:
			out.WriteString("?;")
		default:
			out.WriteString("!;")
		}
	}
	return out.String()
}

func (f *form) fits(args []value) bool { return f.pattern.MatchString(encode(args)) }

// mayBeWord reports whether a value may be a word.
func mayBeWord(v value, word string) bool {
	return v.kinds == 0 || v.may(isOther) || v.open && v.may(isString) || isWord(v, word) || slices.Contains(v.texts, word)
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
