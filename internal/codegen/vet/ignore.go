package vet

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/codegen/diag"
	"github.com/rlfunc/rlfunc/internal/codegen/luasrc"
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
	line := c.Line
	if c.Own {
		line++
	}
	g.list = append(g.list, &ignore{file: f, at: position{c.Line, c.Col}, rule: rule, line: line})
}

func (g *ignores) silences(rule string, at site) bool {
	silenced := false
	for _, i := range g.list {
		if i.rule == rule && i.file == at.file && i.line == at.at.line {
			i.used = true
			silenced = true
		}
	}
	return silenced
}

func (g *ignores) report(found *diag.List) {
	*found = append(*found, g.found...)
	for _, i := range g.list {
		if !i.used && !slices.ContainsFunc(RunRules, func(r Rule) bool { return r.ID == i.rule }) && !slices.Contains(alsoRun, i.rule) {
			found.Add(i.file.src.Path, i.at.line, i.at.col, RuleIgnore, "%s finds nothing on line %d: drop the comment", i.rule, i.line)
		}
	}
}
