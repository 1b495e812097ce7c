package spec

import (
	"slices"
	"strings"
)

// A Rule is what a header asks of arguments together, beyond the bounds of each: a @must row.
//
// A rule that names fields of a group, "limits.cost", holds at each of its rows, and names nothing else. That of a lib file names the
// fields of a row alone, "cost".
type Rule struct {
	Expression string   `json:"expression"`       // what has to be true, in Lua and by the names that Lua has: "cost <= limit"
	Reason     string   `json:"reason,omitempty"` // "it can never be allowed"
	Group      string   `json:"group,omitempty"`  // the group whose rows it is about
	Fields     []string `json:"fields,omitempty"` // the paths that it names, as they come: "cost", "limits.cost"
	File       string   `json:"file,omitempty"`   // the lib file where it is declared; absent where that is the function's file
	Line       int      `json:"line,omitempty"`
	Col        int      `json:"col,omitempty"`
}

// Text is a rule as its header writes it: "cost <= limit: it can never be allowed". A bundle does not hold the reason.
func (r *Rule) Text() string { return strings.TrimSuffix(r.Expression+": "+r.Reason, ": ") }

// Asked is what a refusal says behind the name of the argument, or of the row.
func (r *Rule) Asked() string { return "must satisfy " + r.Text() }

// OwnRules are those that the function's header has, and RulesOf those that a lib file has about rows of a group.
func (f *Function) OwnRules() []Rule {
	return slices.DeleteFunc(slices.Clone(f.Rules), func(r Rule) bool { return r.File != "" })
}

func (f *Function) RulesOf(group string) []Rule {
	return slices.DeleteFunc(slices.Clone(f.Rules), func(r Rule) bool { return r.File == "" || r.Group != group })
}

// Arg returns the argument of a path: "cost", "limits" or "limits.cost".
func (f *Function) Arg(path string) (Field, bool) {
	group, name, inRow := strings.Cut(path, ".")
	for _, p := range f.Params {
		switch {
		case p.Name != group || p.Kind == KindKey && !inRow:
		case !inRow:
			return p, true
		default:
			return (&Function{Params: p.Fields}).Arg(name)
		}
	}
	return Field{}, false
}
