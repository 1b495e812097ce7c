package contract

import (
	"strconv"

	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// maxRepairs bounds how often a call is changed to keep the rules of its header.
const maxRepairs = 200

// obey changes a call until it keeps the rules of its header between arguments. A few calls are left to break them: what is refused must
// change nothing.
func (d *drawer) obey(c *call) {
	if d.percent(4) {
		return
	}
	for range maxRepairs {
		broken, row := c.broken()
		if broken == nil {
			return
		}
		d.repair(c, broken, row)
	}
}

// broken returns the first rule that a call breaks, and at which row.
func (c *call) broken() (*rule.Expression, int) {
	for _, e := range c.rules {
		rows := 1
		if e.Group() != "" {
			rows = len(c.value(e.Group()).rows)
		}
		for row := range rows {
			if !e.Holds(c.getter(row)) {
				return e, row
			}
		}
	}
	return nil, 0
}

// getter gives the arguments of a call, and the fields of a row, to a rule.
func (c *call) getter(row int) func(path string) any {
	return func(path string) any {
		at := c.at[path]
		f, v := c.args[at[0]], c.values[at[0]]
		switch {
		case at[1] >= 0:
			f, v = cells(f)[at[1]], v.rows[row].cells[at[1]]
		case len(f.Fields) > 0:
			return rule.Rows(len(v.rows))
		}
		n, err := strconv.ParseFloat(v.text, 64)
		switch {
		case v.absent || v.text == "" && f.Optional:
			return rule.Absent(f)
		case f.Kind == spec.KindBool:
			return v.text == "1"
		case (f.Kind.Integer() || f.Kind == spec.KindFloat) && err == nil:
			return n
		}
		return v.text
	}
}

// repair changes one of the arguments that a broken rule names: to another value, or to one near a number of the rule, where a comparison
// begins to hold.
func (d *drawer) repair(c *call, e *rule.Expression, row int) {
	at := c.at[pick(d, e.Paths())]
	f, v := c.args[at[0]], &c.values[at[0]]
	if at[1] >= 0 {
		f, v = cells(f)[at[1]], &v.rows[row].cells[at[1]]
	}
	numbers := e.Numbers(c.getter(row))
	near := func() (int64, bool) {
		if len(numbers) == 0 {
			return 0, false
		}
		n := int64(pick(d, numbers)) + pick(d, []int64{0, 0, 1, -1, 1000, 1_000_000, 60_000_000, 3_600_000_000})
		return n, n >= f.Min && n <= f.Max
	}
	n, fits := near()
	switch {
	case len(f.Fields) > 0:
		if fits {
			f.Min, f.Max, f.Optional = n, n, false
		}
		*v = d.value(f)
	case f.Kind.Integer() && fits && d.percent(60):
		*v = value{text: strconv.FormatInt(n, 10)}
	case f.Optional && d.percent(50):
		present := f
		present.Optional = !v.absent // what is there goes, and what is not comes
		if *v = (value{absent: true}); !present.Optional {
			*v = d.value(present)
		}
	default:
		*v = d.value(f)
	}
}

// expressions reads the rules of a function.
func expressions(fn *spec.Function) (all []*rule.Expression) {
	for i := range fn.Rules {
		all = append(all, rule.Of(fn, &fn.Rules[i]))
	}
	return all
}
