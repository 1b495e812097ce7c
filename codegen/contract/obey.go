package contract

import (
	"strconv"

	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// maxRepairs bounds how often a call is changed to keep the rules of its header.
const maxRepairs = 400

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

// repair changes one of the arguments that a broken rule names, as the rule asks or, now and then, anyhow.
func (d *drawer) repair(c *call, e *rule.Expression, row int) {
	path, to := e.Repair(c.getter(row), d.IntN)
	if path == "" || d.percent(10) {
		path, to = pick(d, e.Paths()), rule.Other{}
	}
	at := c.at[path]
	f, v := c.args[at[0]], &c.values[at[0]]
	if at[1] >= 0 {
		f, v = cells(f)[at[1]], &v.rows[row].cells[at[1]]
	}
	switch to := to.(type) {
	case nil:
		*v = value{absent: true}
		return
	case bool:
		*v = value{text: "0"}
		if to {
			v.text = "1"
		}
		return
	case string:
		*v = value{text: to}
		return
	case float64:
		if n := int64(to); f.Kind.Integer() && n >= f.Min && n <= f.Max {
			*v = value{text: strconv.FormatInt(n, 10)}
			return
		}
	case rule.Rows:
		if n := int64(to); n >= f.Min && n <= f.Max {
			f.Min, f.Max, f.Optional = n, n, false
		}
	case rule.Present:
		f.Optional = false
	}
	*v = d.value(f)
}

// expressions reads the rules of a function.
func expressions(fn *spec.Function) (all []*rule.Expression) {
	for i := range fn.Rules {
		all = append(all, rule.Of(fn, &fn.Rules[i]))
	}
	return all
}
