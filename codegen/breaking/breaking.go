// Package breaking compares two versions of libraries by rules, for changes that break calls and replies while clients of the old one run,
// code that is compiled against the new one, or the state that the old one has stored.
//
// It is pure: both versions are a [Snapshot], from any source. A library of a new major version runs next to the old
// one, so it may break callers. Both use the same keys, so it must not break the state.
package breaking

import (
	"fmt"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
)

// A Finding is one change that violates a rule, at its position in the new version.
type Finding struct {
	diag.Diagnostic
	Category Category `json:"category"`
	Library  string   `json:"library,omitempty"` // none where it is about released.sum
	Note     bool     `json:"note"`              // something to look at, and no break by itself
}

// String gives the form that editors parse: file:line:col: message (rule).
func (f Finding) String() string {
	if !f.Note {
		return f.Diagnostic.String()
	}
	d := f.Diagnostic
	d.Message = "note: " + d.Message
	return d.String()
}

// Breaks reports whether a finding is an error rather than a note.
func Breaks(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return !f.Note })
}

// Compare returns what changed from old to new that breaks a client or a deploy, sorted by position.
func Compare(old, new *Snapshot) []Finding {
	c := &comparison{}
	c.releases(old.Released, new.Released)
	for i := range new.Libraries {
		c.new = &new.Libraries[i]
		c.library = c.new.Spec.Name
		before := old.named(c.library)
		c.lowered(before)
		c.bytes(new.Released)
		for _, c.old = range before { // a server may hold several majors, and several nodes different versions
			c.state()
			if c.old.Spec.Server == c.new.Spec.Server {
				c.same(old.Live, new.Released)
				c.functions()
			}
		}
	}
	for _, gone := range old.Libraries {
		if c.library = gone.Spec.Name; !old.Live && len(new.named(c.library)) == 0 {
			c.at(&functionRemoved, new.Root, 1, 1, "library %s %s was removed", c.library, gone.Spec.Version)
		}
	}
	slices.SortFunc(c.found, func(a, b Finding) int { return diag.Compare(a.Diagnostic, b.Diagnostic) })
	return slices.Compact(c.found)
}

// A comparison is at work on two versions of a library.
type comparison struct {
	library  string
	old, new *Library
	found    []Finding
}

// at reports a finding.
func (c *comparison) at(rule *Rule, file string, line, col int, format string, args ...any) {
	c.found = append(c.found, Finding{
		Diagnostic: diag.Diagnostic{File: file, Line: max(line, 1), Col: max(col, 1), Rule: rule.ID, Message: fmt.Sprintf(format, args...)},
		Category:   rule.Category,
		Library:    c.library,
		Note:       rule.Note,
	})
}

// atVersion reports a finding at the new version's number.
func (c *comparison) atVersion(rule *Rule, format string, args ...any) {
	c.at(rule, c.new.Spec.File, c.new.Spec.Line, c.new.Spec.Col, format, args...)
}

func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }
