package vet

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

var (
	ignoreForm = regexp.MustCompile(`^-+\s*rlfunc:\s*ignore\b[ \t]*(\S*)[ \t]*(.*)$`)
	ignoreLike = regexp.MustCompile(`^-+\s*(rlfunc[: -]*(ignore|disable|silence|nolint|allow)|nolint|luacheck)\b`)
)

// An ignore is one comment that silences one rule on one line.
type ignore struct {
	file *file
	at   position
	rule string
	line int // the line that it silences
	used bool
}

// ignores holds the ignore comments of a tree.
type ignores struct {
	list  []*ignore
	found diag.List // invalid ignore comments
}

func readIgnores(files []*file) *ignores {
	out := &ignores{}
	for _, f := range files {
		for _, c := range f.src.Comments {
			out.read(f, c)
		}
	}
	return out
}

func (g *ignores) read(f *file, c luasrc.Comment) {
	m := ignoreForm.FindStringSubmatch(c.Text)
	if m == nil {
		if ignoreLike.MatchString(c.Text) {
			g.found.Add(f.src.Path, c.Line, c.Col, RuleIgnore, "this silences nothing: write `-- rlfunc:ignore RULE reason`")
		}
		return
	}
	rule, reason := m[1], strings.TrimSpace(m[2])
	switch {
	case rule == "":
		g.found.Add(f.src.Path, c.Line, c.Col, RuleIgnore, "name the rule and the reason: `-- rlfunc:ignore RULE reason`")
		return
	case !slices.Contains(ruleIDs(), rule):
		g.found.Add(f.src.Path, c.Line, c.Col, RuleIgnore, "no rule %q that can be silenced%s", rule, spelling.DidYouMean(rule, ruleIDs()))
		return
	case reason == "":
		g.found.Add(f.src.Path, c.Line, c.Col, RuleIgnore, "give the reason why %s does not apply here, after the rule's name", rule)
		return
	}
	g.list = append(g.list, &ignore{file: f, at: position{c.Line, c.Col}, rule: rule, line: silenced(c)})
}

// silenced is the line that a comment is about: a comment of its own is about the line below it.
func silenced(c luasrc.Comment) int {
	if c.Own {
		return c.Line + 1
	}
	return c.Line
}

// Ignored returns the rules that the comments of a file silence, by line.
func Ignored(src *luasrc.File) map[int][]string {
	out := map[int][]string{}
	for _, c := range src.Comments {
		if m := ignoreForm.FindStringSubmatch(c.Text); m != nil && strings.TrimSpace(m[2]) != "" {
			out[silenced(c)] = append(out[silenced(c)], m[1])
		}
	}
	return out
}

func (g *ignores) silences(rule string, at site) bool {
	found := false
	for _, i := range g.list {
		if i.rule == rule && i.file == at.file && i.line == at.at.line {
			i.used = true
			found = true
		}
	}
	return found
}

func (g *ignores) report(found *diag.List) {
	*found = append(*found, g.found...)
	for _, i := range g.list {
		if !i.used && !slices.ContainsFunc(RunRules, func(r Rule) bool { return r.ID == i.rule }) && !slices.Contains(alsoRun, i.rule) {
			found.Add(i.file.src.Path, i.at.line, i.at.col, RuleIgnore, "%s finds nothing on line %d: drop the comment", i.rule, i.line)
		}
	}
}
