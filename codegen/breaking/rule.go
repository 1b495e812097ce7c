package breaking

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule is one change that breaks a client or a deploy.
type Rule struct {
	ID       string
	Category Category
	Checks   string // one sentence, "Checks that ..."
	Why      string // who notices otherwise, and how
	Note     bool   // a finding is something to look at, and no break by itself

	scope scope
	check func(*pass)
}

// Rules lists every rule, in the order of the documentation.
var Rules = slices.Concat(callRules, replyRules, apiRules, stateRules, versionRules)

// Docs renders the tables of rules for docs/reference/breaking-changes.md.
func Docs() string {
	titles := map[Category]string{
		Call:    "An old client calls the new library (`call`)",
		Reply:   "An old client reads a reply of the new library (`reply`)",
		API:     "Code uses the new Go, Python or TypeScript client (`api`)",
		State:   "The new library meets what the old one stored (`state`)",
		Version: "Versions (at every strictness)",
	}
	var b strings.Builder
	last := Category("")
	for _, r := range Rules {
		if r.Category != last {
			fmt.Fprintf(&b, "\n### %s\n\n| rule | it checks | otherwise |\n|---|---|---|\n", titles[r.Category])
			last = r.Category
		}
		major := ""
		if r.scope != inMajor {
			major = " ●"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", r.ID, major, strings.TrimPrefix(r.Checks, "Checks "), r.Why)
	}
	return b.String()
}
