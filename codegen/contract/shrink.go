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
	op := f.Steps[i].call
	if op.subject != "u" {
		changed = alter(func(c *call) { c.subject = "u" })
	}
	if len(op.of) > 0 {
		changed = alter(func(c *call) { c.of = nil }) || changed
	}
	for j, p := range op.args {
		for _, v := range simpler(p, f.Steps[i].call.values[j]) {
			if alter(func(c *call) { c.values[j] = v }) {
				changed = true
				break
			}
		}
	}
	return changed
}

// simpler are values that a reader would rather see, the plainest first.
func simpler(p spec.Field, v value) (out []value) {
	if v.absent {
		return nil
	}
	if p.Optional {
		out = append(out, value{absent: true})
	}
	switch {
	case p.Kind == spec.KindGroup:
		return append(out, simplerRows(p, v)...)
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
		if len(v.text) > 8 && p.Min <= 8 {
			out = append(out, value{text: v.text[:8]})
		}
	case p.Kind == spec.KindEnum && v.text != p.Values[0]:
		out = append(out, value{text: p.Values[0]})
	case p.Kind == spec.KindBool && v.text == "1":
		out = append(out, value{text: "0"})
	}
	return out
}

func simplerRows(p spec.Field, v value) (out []value) {
	if int64(len(v.rows)) > p.Min {
		for i := range v.rows {
			out = append(out, value{rows: slices.Delete(slices.Clone(v.rows), i, i+1)})
		}
	}
	fields := cells(p)
	for i, r := range v.rows {
		with := func(changed row) {
			rows := slices.Clone(v.rows)
			rows[i] = changed
			out = append(out, value{rows: rows})
		}
		if r.of != "" {
			with(row{cells: r.cells})
		}
		for j := range r.cells {
			for _, cell := range simpler(fields[j], r.cells[j]) {
				to := row{cells: slices.Clone(r.cells), of: r.of}
				to.cells[j] = cell
				with(to)
			}
		}
	}
	return out
}
