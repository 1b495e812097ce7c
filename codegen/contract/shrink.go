package contract

import (
	"slices"
	"strconv"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// maxTries bounds how often a sequence is played to find a shorter one.
const maxTries = 300

// shrink makes the sequence of a finding short and its values plain, as long as it shows the same.
func (c *checker) shrink(f Finding) Finding {
	tries := 0
	still := func(steps []Step) bool {
		if tries++; tries > maxTries || len(steps) == 0 {
			return false
		}
		for _, again := range c.play(steps).found {
			if again.Steps = steps; again.Rule == f.Rule && again.Function == f.Function && c.scales(again) {
				f = again
				return true
			}
		}
		return false
	}
	change := func(i int, to func(s *Step)) bool {
		steps := slices.Clone(f.Steps)
		to(&steps[i])
		return still(steps)
	}
	for size := len(f.Steps) / 2; size > 1; size /= 2 { // long sequences
		for i := len(f.Steps) - 1 - size; i >= 0; i -= size {
			still(slices.Delete(slices.Clone(f.Steps), i, i+size))
		}
	}
	for changed := true; changed && tries <= maxTries; {
		changed = false
		for i := len(f.Steps) - 2; i >= 0; i-- {
			changed = still(slices.Delete(slices.Clone(f.Steps), i, i+1)) || changed
		}
		for i := range f.Steps {
			s := f.Steps[i]
			for _, us := range []int64{0, 1, 1000, 1_000_000} {
				if us == s.Advance || change(i, func(s *Step) { s.Advance = us }) {
					changed = changed || us != s.Advance
					break
				}
			}
			if len(s.Foreign) > 0 {
				changed = change(i, func(s *Step) { s.Foreign, s.garbage = nil, false }) || changed
			}
			changed = c.simplify(i, &f, change) || changed
		}
	}
	steps, names := slices.Clone(f.Steps), map[string]string{"": ""}
	for i := range steps { // the texts that are left are a, b, c as they come
		steps[i].call = steps[i].call.clone()
		steps[i].call.each(func(p spec.Field, v *value) {
			if p.Kind != spec.KindText {
				return
			}
			if _, named := names[v.text]; !named {
				names[v.text] = string(rune('a' - 1 + len(names)))
			}
			v.text = names[v.text]
		})
	}
	tries = 0
	still(steps)
	return f
}

// simplify makes the call of step i plain.
func (c *checker) simplify(i int, f *Finding, change func(i int, to func(s *Step)) bool) (changed bool) {
	alter := func(to func(c *call)) bool {
		return change(i, func(s *Step) {
			s.call = s.call.clone()
			to(s.call)
		})
	}
	if f.Steps[i].call.subject != "u" {
		changed = alter(func(c *call) { c.subject = "u" })
	}
	if len(f.Steps[i].call.of) > 0 {
		changed = alter(func(c *call) { c.of = nil }) || changed
	}
	for j := range f.Steps[i].call.args {
		for n := len(f.Steps[i].call.values[j].rows) - 1; n >= 0; n-- {
			changed = alter(func(c *call) { c.values[j].rows = slices.Delete(c.values[j].rows, n, n+1) }) || changed
		}
		for n, r := range f.Steps[i].call.values[j].rows {
			changed = r.of != "" && alter(func(c *call) { c.values[j].rows[n].of = "" }) || changed
		}
	}
	at := 0
	f.Steps[i].call.each(func(p spec.Field, v *value) {
		changed = slices.ContainsFunc(simpler(p, *v), func(plain value) bool {
			return alter(func(c *call) {
				n := 0
				c.each(func(_ spec.Field, v *value) {
					if n == at {
						*v = plain
					}
					n++
				})
			})
		}) || changed
		at++
	})
	return changed
}

// simpler are values that a reader would rather see, the plainest first.
func simpler(p spec.Field, v value) (out []value) {
	if p.Optional {
		if v.text == "" {
			return nil
		}
		out = append(out, value{})
	}
	switch {
	case p.Kind.Integer():
		n, _ := strconv.ParseInt(v.text, 10, 64)
		for _, to := range []int64{p.Min, 0, 1, 2, 10, 1000, 1_000_000, 60_000_000, p.Max} {
			if to >= p.Min && to <= p.Max && to < n {
				out = append(out, value{text: strconv.FormatInt(to, 10)})
			}
		}
	case p.Kind == spec.KindText:
		if v.text != "a" && p.Min <= 1 && p.Max >= 1 {
			out = append(out, value{text: "a"})
		}
	case p.Kind == spec.KindEnum && v.text != p.Values[0]:
		out = append(out, value{text: p.Values[0]})
	case p.Kind == spec.KindBool && v.text == "1":
		out = append(out, value{text: "0"})
	}
	return out
}
