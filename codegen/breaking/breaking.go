// Package breaking compares two versions of libraries by rules, for changes that break callers compiled against the old
// one, calls and replies on the wire while both run, or the state that the old one has stored.
//
// It is pure: both versions are a [Snapshot], from any source. A library of a new major version runs next to the old
// one, so it may break callers. Both use the same keys, so it must not break the state.
package breaking

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
)

// A Category says what a change breaks, and so how strict a comparison must be to report it.
type Category string

// The categories, which are also the strictnesses: each looks for its own rules and those of the ones below it.
const (
	API   Category = "api"   // Go code that is recompiled against the generated client
	Reply Category = "reply" // an old client that reads the replies of the new library
	Call  Category = "call"  // an old client that calls the new library
	State Category = "state" // what the old library has stored
)

// Version is the category of the rules about versions themselves. Every comparison looks for them.
const Version Category = "version"

// Strictnesses lists what a comparison can be asked for, the strictest first.
var Strictnesses = []Category{API, Reply, Call, State}

// includes reports whether a comparison of strictness c looks for a rule.
func (c Category) includes(rule Category) bool {
	return rule == Version || slices.Index(Strictnesses, rule) >= slices.Index(Strictnesses, c)
}

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

// Compare returns what changed from old to new that breaks a client or a deploy, sorted by position. The zero strictness is [API].
func Compare(old, new *Snapshot, strictness Category) []Finding {
	if strictness == "" {
		strictness = API
	}
	var found []Finding
	passes := pairs(old, new)
	for i := range Rules {
		if rule := &Rules[i]; strictness.includes(rule.Category) {
			for j := range passes {
				if p := &passes[j]; p.wants(rule) {
					p.rule, p.found = rule, &found
					rule.check(p)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(found)
}

// A pass is one rule after the other at work on two versions of a library.
type pass struct {
	rule               *Rule
	found              *[]Finding
	oldTree, newTree   *Snapshot
	old, new           *Library // either may be nil: new where the library is gone, old where it is new
	sameMajor, highest bool     // highest: there is no other old major that is the same or above this one
	first              bool

	argLists, resultLists, keyLists []matched // nil until the first rule visits them
}

// A scope says which pairs a rule is for.
type scope int

const (
	inMajor    scope = iota // both versions are on the server by the same name, one after the other
	onKeys                  // also two majors, which run side by side on the same keys
	everywhere              // also libraries that are gone or new
	once                    // what is about no library: one pass is enough
)

func (p *pass) wants(rule *Rule) bool {
	switch rule.scope {
	case inMajor:
		return p.old != nil && p.new != nil && p.sameMajor
	case onKeys:
		return p.old != nil && p.new != nil
	case once:
		return p.first
	}
	return true
}

// pairs matches each library with its old versions: a server may hold several majors of it, and several nodes different ones.
func pairs(old, new *Snapshot) []pass {
	var out []pass
	for i := range new.Libraries {
		lib := &new.Libraries[i]
		before := old.named(lib.Spec.Name)
		if len(before) == 0 {
			before = []*Library{nil}
		}
		for _, was := range before {
			p := pass{oldTree: old, newTree: new, old: was, new: lib}
			p.sameMajor = was != nil && was.Spec.Server == lib.Spec.Server
			p.highest = was != nil && !slices.ContainsFunc(before, func(other *Library) bool {
				return other.Spec.Server == lib.Spec.Server || compareVersions(other.Spec.Version, was.Spec.Version) > 0
			})
			out = append(out, p)
		}
	}
	for i := range old.Libraries {
		if lib := &old.Libraries[i]; !old.Live && len(new.named(lib.Spec.Name)) == 0 {
			out = append(out, pass{oldTree: old, newTree: new, old: lib})
		}
	}
	if len(out) > 0 {
		out[0].first = true
	}
	return out
}

func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// add reports a finding of the rule.
func (p *pass) add(file string, line, col int, format string, args ...any) {
	name := ""
	if p.rule.scope != once {
		name = cmp.Or(p.new, p.old).Spec.Name
	}
	*p.found = append(*p.found, Finding{
		Diagnostic: diag.Diagnostic{File: file, Line: max(line, 1), Col: max(col, 1), Rule: p.rule.ID, Message: fmt.Sprintf(format, args...)},
		Category:   p.rule.Category,
		Library:    name,
		Note:       p.rule.Note,
	})
}

// atLibrary reports a finding at the new version's number.
func (p *pass) atLibrary(format string, args ...any) {
	p.add(p.new.Spec.File, p.new.Spec.Line, p.new.Spec.Col, format, args...)
}

// list writes some names out and counts the others.
func list(names []string) string {
	const shown = 3
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
