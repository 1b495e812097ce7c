package vet

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

var ignoreForm = regexp.MustCompile(`^-+\s*rlfunc:\s*ignore\b[ \t]*(\S*)[ \t]*(.*)$`)

// An ignore is one comment that silences one rule on one line.
type ignore struct {
	comment luasrc.Comment
	rule    string
	reason  string
	line    int // the line that it silences
	used    bool
}

func ignoresOf(src *luasrc.File) (out []*ignore) {
	for _, c := range src.Comments {
		if m := ignoreForm.FindStringSubmatch(c.Text); m != nil {
			i := &ignore{comment: c, rule: m[1], reason: strings.TrimSpace(m[2]), line: c.Line}
			if c.Own { // it is about the line below it
				i.line++
			}
			out = append(out, i)
		}
	}
	return out
}

// Ignored returns the rules that the comments of a file silence, by line.
func Ignored(src *luasrc.File) map[int][]string {
	out := map[int][]string{}
	for _, i := range ignoresOf(src) {
		if i.reason != "" {
			out[i.line] = append(out[i.line], i.rule)
		}
	}
	return out
}

func (f *file) silenced(rule string, line int) (found bool) {
	for _, i := range f.ignores {
		if i.rule == rule && i.line == line && i.reason != "" {
			i.used, found = true, true
		}
	}
	return found
}

// ignored reports comments that silence nothing, except of rules that running finds, too.
func (f *file) ignored() {
	ran := slices.Concat(ids(RunRules), alsoRun)
	rules := slices.Concat(ids(Rules), ran)
	for _, i := range f.ignores {
		at := position{i.comment.Line, i.comment.Col}
		switch {
		case i.reason == "":
			f.report(at, "ignore", "name the rule and the reason: `-- rlfunc:ignore RULE reason`")
		case !slices.Contains(rules, i.rule):
			f.report(at, "ignore", "there is no rule %q%s", i.rule, spelling.DidYouMean(i.rule, rules))
		case !i.used && !slices.Contains(ran, i.rule):
			f.report(at, "ignore", "%s finds nothing on line %d: drop the comment", i.rule, i.line)
		}
	}
}
