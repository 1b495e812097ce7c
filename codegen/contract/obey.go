package contract

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// maxRepairs bounds how often a call is changed to keep the rules of its header.
const maxRepairs = 120

// obey changes a call until it keeps the rules of its header between arguments. A few calls are left to break them: what is refused must
// change nothing.
func (d *drawer) obey(c *call) {
	if d.percent(4) {
		return
	}
	for range maxRepairs {
		broken, row := c.Broken(d.getter(c))
		if broken == nil {
			return
		}
		d.repair(c, broken, max(row, 0))
	}
}

// getter gives the arguments of a call to the rules.
func (d *drawer) getter(c *call) spec.Getter {
	return func(path string, row int) (string, bool) {
		if path == spec.Now {
			return strconv.FormatInt(d.now, 10), true
		}
		at, ok := c.at[path]
		if !ok {
			if group, of := strings.CutSuffix(path, ".of"); of {
				text := c.values[c.at[group][0]].rows[row].of
				return text, text != ""
			}
			n := len(c.several[path])
			return strconv.Itoa(n), n > 0
		}
		p, v := &c.args[at[0]], &c.values[at[0]]
		switch {
		case at[1] >= 0:
			text := v.rows[row].cells[at[1]].text
			return text, text != ""
		case p.Kind == spec.KindList && row >= 0:
			return v.rows[row].cells[0].text, true
		case len(p.Fields) > 0:
			return strconv.Itoa(len(v.rows)), len(v.rows) > 0
		}
		return v.text, !v.absent
	}
}

// set changes the argument, or the cell of a row, at a path.
func (c *call) set(path string, row int, to func(f spec.Field, v value) value) {
	at, ok := c.at[path]
	if !ok {
		return
	}
	switch v := &c.values[at[0]]; {
	case at[1] < 0:
		*v = to(c.args[at[0]], *v)
	case row < len(v.rows):
		cell := &v.rows[row].cells[at[1]]
		*cell = to(cells(c.args[at[0]])[at[1]], *cell)
	}
}

// repair changes what a rule is about.
func (d *drawer) repair(c *call, r *spec.Rule, row int) {
	given := func(f spec.Field, _ value) value {
		f.Optional = false
		if f.Kind.Repeated() || f.Kind == spec.KindPacked {
			f.Min = max(f.Min, 1)
		}
		if f.Kind == spec.KindBool {
			return value{text: "1"}
		}
		return d.value(f)
	}
	switch r.Kind {
	case spec.RuleGiven:
		for _, path := range r.Fields {
			c.set(path, row, given)
		}
	case spec.RuleOneGiven:
		c.set(pick(d, r.Fields), row, given)
	case spec.RuleOmitted:
		for _, path := range r.Fields {
			c.set(path, row, func(f spec.Field, _ value) value {
				if f.Optional || f.Min == 0 && len(f.Fields) > 0 {
					return value{absent: len(f.Fields) == 0}
				}
				return value{text: "0"}
			})
		}
	case spec.RuleIs:
		for row := range max(len(c.value(r.Group).rows), 1) { // the same is asked of each
			c.set(r.Fields[0], row, func(spec.Field, value) value { return value{text: pick(d, r.Values)} })
		}
	case spec.RuleIsNot:
		c.set(r.Fields[0], row, func(f spec.Field, _ value) value { return d.value(f) })
	case spec.RuleAtMost, spec.RuleBelow:
		d.compare(c, r, row)
	case spec.RuleDiffer:
		if r.Group == "" {
			c.set(pick(d, r.Fields), row, func(f spec.Field, _ value) value { return d.value(f) })
			return
		}
		c.set(r.Group, -1, func(f spec.Field, v value) value {
			if int64(len(v.rows)) > f.Min && d.IntN(2) == 0 {
				v.rows = slices.Delete(slices.Clone(v.rows), row, row+1)
				return v
			}
			for j, cell := range cells(f) {
				if cell.Kind == spec.KindText || cell.Kind == spec.KindEnum {
					v.rows[row].cells[j] = d.scalar(cell)
				}
			}
			return v
		})
	case spec.RuleAsMany:
		n := len(c.value(r.Fields[0]).rows)
		for _, path := range r.Fields[1:] {
			c.set(path, -1, func(f spec.Field, v value) value {
				for len(v.rows) > n {
					v.rows = v.rows[:len(v.rows)-1]
				}
				for len(v.rows) < n {
					f.Min, f.Max, f.Optional = 1, 1, false
					v.rows = append(v.rows, d.value(f).rows...)
				}
				return v
			})
		}
	}
}

// compare moves one of the fields of a comparison to where it holds, or leaves it out.
func (d *drawer) compare(c *call, r *spec.Rule, row int) {
	get := d.getter(c)
	term := func(t spec.Term) (float64, bool) {
		text := strconv.FormatInt(t.Number, 10)
		switch {
		case t.Now:
			text, _ = get(spec.Now, -1)
		case t.Field != "":
			f, _ := c.Arg(t.Field)
			var there bool
			if text, there = get(t.Field, row); !there {
				text, _ = f.DefaultWord()
			}
		}
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	}
	sides := [2]*spec.Expression{r.Left, r.Right}
	side := min(d.IntN(4), 1) // mostly the right one: chains such as start < next < end then hold from left to right
	if !slices.ContainsFunc(sides[side].Terms, func(t spec.Term) bool { return t.Field != "" }) {
		side = 1 - side
	}
	total := func(e *spec.Expression, but int) (sum float64) {
		if e.Product {
			sum = 1
		}
		for i, t := range e.Terms {
			switch n, ok := term(t); {
			case i == but || !ok:
			case e.Product:
				sum *= n
			default:
				sum += n
			}
		}
		return sum
	}
	own := sides[side]
	i := d.IntN(len(own.Terms))
	path := own.Terms[i].Field
	if path == "" {
		return
	}
	bound := total(sides[1-side], -1) - total(own, i)
	if own.Product {
		bound = total(sides[1-side], -1) / max(total(own, i), 1)
	}
	c.set(path, row, func(f spec.Field, _ value) value {
		lo, hi := float64(f.Min), float64(f.Max)
		if side == 0 {
			hi = min(hi, math.Floor(bound))
			if r.Kind == spec.RuleBelow {
				hi = min(hi, math.Ceil(bound)-1)
			}
		} else {
			lo = max(lo, math.Ceil(bound))
			if r.Kind == spec.RuleBelow {
				lo = max(lo, math.Floor(bound)+1)
			}
		}
		if lo > hi {
			return value{absent: f.Optional, text: map[bool]string{false: strconv.FormatInt(f.Min, 10)}[f.Optional]}
		}
		f.Min, f.Max, f.Optional = int64(lo), int64(hi), false
		if d.percent(70) { // near the bound, where the next comparison may hold, too
			n := pick(d, []int64{0, 1, 1000, 1_000_000, 60_000_000, 3_600_000_000})
			if side == 0 {
				return value{text: strconv.FormatInt(max(f.Max-n, f.Min), 10)}
			}
			return value{text: strconv.FormatInt(min(f.Min+n, f.Max), 10)}
		}
		return d.value(f)
	})
}
