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
			_, v := c.at(e.Group(), 0)
			rows = len(v.rows)
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
		f, v := c.at(path, row)
		switch {
		case f.Kind == spec.KindGroup:
			return rule.Rows(len(v.rows))
		case v.text == "" && f.Optional:
			return rule.Absent(f.Field)
		case f.Kind == spec.KindBool:
			return v.text == "1"
		case f.Kind.Integer() || f.Kind == spec.KindFloat:
			n, _ := strconv.ParseFloat(v.text, 64)
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
	f, v := c.at(path, row)
	switch to := to.(type) {
	case nil:
		*v = value{}
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
