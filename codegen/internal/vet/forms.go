package vet

import (
	_ "embed"
	"regexp"
	"strings"
)

// The forms of commands, as COMMAND DOCS of Redis 7.0 gives them. A test compares them with the server, and rewrites them with -update.
// Each line is a name and its form: WORD, <type>, [optional], (one|of), {a block}, and + behind what may be repeated.
//
//go:embed forms_7_0.txt
var formTable string

// A form is what a command takes.
type form struct {
	text    string
	pattern *regexp.Regexp // of arguments as fits writes them
}

var forms = func() map[string]*form {
	out := map[string]*form{}
	for name, text := range rows(formTable) {
		out[name] = &form{text, pattern(text)}
	}
	return out
}()

var (
	option = regexp.MustCompile(`\[([^\[\]]*)\]`)
	word   = regexp.MustCompile("[^ |{}()+\x00\x01\x02]+")
)

// pattern turns the notation of the table into a regular expression. Of options that follow each other, a caller may choose any, in any order.
func pattern(text string) *regexp.Regexp {
	text = strings.ReplaceAll(text, "] [", "\x00")
	for option.MatchString(text) { // the inner ones first
		text = option.ReplaceAllStringFunc(text, func(o string) string {
			inner, often := o[1:len(o)-1], "\x01"
			if strings.Contains(inner, "\x00") {
				inner, often = strings.ReplaceAll(inner, "\x00", "|"), "\x02"
			}
			return "{" + inner + "}" + often
		})
	}
	text = word.ReplaceAllStringFunc(text, func(w string) string {
		switch {
		case w == "<integer>" || w == "<unix-time>":
			return `(=#?-?(0|[1-9]\d*);|[?!];)`
		case w[0] == '<':
			return `(=[^;]*;|[?!];)`
		}
		return "(=(?i:" + regexp.QuoteMeta(w) + ");|[?];)"
	})
	return regexp.MustCompile("^" + strings.NewReplacer(" ", "", "{", "(", "}", ")", "\x01", "?", "\x02", "*").Replace(text) + "$")
}

// fits reports whether arguments have the form: it writes = and a literal, ? for what may be any word, ! for what is none.
func (f *form) fits(args []shape) bool {
	var out strings.Builder
	for _, s := range args {
		switch {
		case s.whole:
			out.WriteString("=" + strings.NewReplacer(";", "_", "\n", "_").Replace(s.lead) + ";")
		case s.number:
			out.WriteString("!;")
		default:
			out.WriteString("?;")
		}
	}
	return f.pattern.MatchString(out.String())
}
