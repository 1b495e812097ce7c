package decide

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// A grouping is a compiled policy.By: which requests a row counts together.
type grouping struct {
	global fcall.Subject // the subject of all requests; "" if the row is not global
	parts  [][]string    // for each identity of a combination, the prefixes of its possible subjects: "user="
}

// newGrouping compiles a policy's by. A global limit is counted under limitName.
func newGrouping(p *policy.Policy, by policy.By, limitName string) grouping {
	if by.Global() {
		return grouping{global: fcall.Subject(wire.GlobalPrefix + limitName)}
	}
	var w grouping
	for _, name := range by {
		var marks []string
		for _, one := range p.Alternatives(name) {
			marks = append(marks, one+"=")
		}
		w.parts = append(w.parts, marks)
	}
	return w
}

// subject returns the subject that the row counts, or "" if the request lacks an identity.
func (w *grouping) subject(subjects []string) string {
	switch {
	case w == nil:
		return ""
	case w.global != "":
		return string(w.global)
	case len(w.parts) == 1:
		return firstOf(subjects, w.parts[0])
	}
	var b strings.Builder
	for i, marks := range w.parts {
		one := firstOf(subjects, marks)
		if one == "" {
			return ""
		}
		if i > 0 {
			b.WriteByte('+') // subjects never contain it
		}
		b.WriteString(one)
	}
	return b.String()
}

// CountsAlone reports whether a limit counts one identity, neither a combination nor the first of several.
func (ep *Endpoint) CountsAlone(endpoint, limit string) bool {
	return slices.ContainsFunc(ep.Rows, func(r Row) bool {
		return r.Endpoint == endpoint && r.Name == limit && len(r.grouping.parts) == 1 && len(r.grouping.parts[0]) == 1
	})
}

// factor returns the largest factor that overrides give to one of the row's subjects.
func (w *grouping) factor(subjects []string, o *policy.Lookup) int64 {
	n := int64(1)
	for _, marks := range w.parts {
		if one := firstOf(subjects, marks); one != "" {
			n = max(n, o.Of(one).Multiply)
		}
	}
	return n
}

// firstOf returns the first subject with the first of the prefixes that any subject has, or "".
func firstOf(subjects, marks []string) string {
	for _, mark := range marks {
		for _, s := range subjects {
			if strings.HasPrefix(s, mark) {
				return s
			}
		}
	}
	return ""
}
