package plan

import (
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A whose says whose requests a row counts together.
type whose struct {
	global fcall.Subject // every request's; "" where it is not
	parts  [][]string    // for each identity of a combination what the subjects that may stand for it begin with: "user="
}

// whoseOf reads the policy's by. A global limit of an endpoint is kept for its wire name.
func whoseOf(p *policy.Policy, by policy.By, wire string) whose {
	if by.Global() {
		return whose{global: fcall.Subject(policy.GlobalPrefix + wire)}
	}
	var w whose
	for _, name := range by {
		var marks []string
		for _, one := range p.Alternatives(name) {
			marks = append(marks, one+"=")
		}
		w.parts = append(w.parts, marks)
	}
	return w
}

// of returns the subject that a request of these subjects is counted for; "" where it lacks an identity.
func (w *whose) of(subjects []string) string {
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
			b.WriteByte('+') // which no subject holds
		}
		b.WriteString(one)
	}
	return b.String()
}

// times is how many times its limit a row has: the most that the overrides give to one of its subjects.
func (w *whose) times(subjects []string, o *policy.Lookup) int64 {
	n := int64(1)
	for _, marks := range w.parts {
		if one := firstOf(subjects, marks); one != "" {
			n = max(n, o.Of(one).Multiply)
		}
	}
	return n
}

// firstOf returns the first of a request's subjects that begins with one of the marks, in the order of the marks; "" for none.
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
