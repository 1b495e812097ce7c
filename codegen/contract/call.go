package contract

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A Step of a sequence moves the clock, puts content under a key as another program would, and makes a call; most do not do all of it.
type Step struct {
	Advance int64      // microseconds; back if negative
	Foreign [][]string // commands
	garbage bool       // the foreign content is none that the library could have written
	call    *call

	// Of the last play: a command ran whose elements come in no order, and the server made IDs of a stream.
	Unordered, IDs bool

	wrote   bool
	reply   any
	results []any // as Lua has returned them
}

// Words are the step's FCALL, with its arguments.
func (s Step) Words() []string { return s.call.words() }

// Results splits the step's reply into its results, each group into an array of its rows. Another reply stays as it is.
func (s Step) Results(reply any) any {
	if _, ok := reply.([]any); ok {
		return nested(s.call.Results, reply)
	}
	return reply
}

// A call is one call of a function, as it is sent.
type call struct {
	*function
	subject string
	values  []value             // of the function's args
	of      map[string]string   // the subjects of the keys of an argument, where that is not the call's
	several map[string][]string // the subjects of keys of which a call has several
}

// A value is an argument, or a cell of a row. An optional one without a text is left out.
type value struct {
	text string // as it travels
	rows []row  // of a group
}

// A row has a cell for each field that is no key.
type row struct {
	cells []value
	of    string // its subject, where that is not the call's
}

func (c *call) clone() *call {
	d := *c
	d.values = slices.Clone(c.values)
	for i, v := range d.values {
		d.values[i] = v.clone()
	}
	d.of, d.several = maps.Clone(c.of), maps.Clone(c.several)
	return &d
}

func (v value) clone() value {
	v.rows = slices.Clone(v.rows)
	for i, r := range v.rows {
		v.rows[i].cells = slices.Clone(r.cells)
	}
	return v
}

// at returns an argument, or the cell `group.field` of a row.
func (c *call) at(path string, row int) (arg, *value) {
	at := c.places[path]
	f, v := c.args[at[0]], &c.values[at[0]]
	if at[1] >= 0 {
		return arg{Field: f.cells[at[1]]}, &v.rows[row].cells[at[1]]
	}
	return f, v
}

// each visits the arguments and the cells of rows, with their fields, for a change or none.
func (c *call) each(visit func(f spec.Field, v *value)) {
	for i, p := range c.args {
		if len(p.Fields) == 0 {
			visit(p.Field, &c.values[i])
		}
		for _, r := range c.values[i].rows {
			for n := range r.cells {
				visit(p.cells[n], &r.cells[n])
			}
		}
	}
}

// rename passes another name in each text of a call that names no key, another duration, and a time that is still to come.
func (c *call) rename(n int, now int64) {
	for i, p := range c.args {
		switch v := &c.values[i]; {
		case v.text == "" && p.Optional || slices.ContainsFunc(c.Params, func(k spec.Field) bool {
			return k.SuffixOf == p.Name || slices.Contains(k.SuffixBy, p.Name) || k.With == p.Name
		}):
		case p.Kind == spec.KindText && p.Max >= 6:
			v.text = "n" + strconv.Itoa(n)
		case p.Kind == spec.KindDuration:
			if us, err := strconv.ParseInt(v.text, 10, 64); err == nil {
				v.text = strconv.FormatInt(min(us+int64(n), p.Max), 10)
			}
		case p.Kind == spec.KindTime:
			v.text = strconv.FormatInt(min(max(now+1_000_000, p.Min), p.Max), 10)
		}
	}
}

// A keyed is a key of a call and its declaration.
type keyed struct {
	name  string
	field spec.Field
}

// keys are those of the call, in the order in which they are sent.
func (c *call) keys() (out []keyed) {
	add := func(k spec.Field, subject, group string, row int) {
		text := func(name string) string {
			if name == "" {
				return ""
			}
			_, v := c.at(group+name, row)
			return v.text
		}
		suffix := cmp.Or(text(k.SuffixKind), k.Suffix)
		for _, part := range k.SuffixBy { // the texts of durations are plain
			suffix = fcall.Suffix(suffix, text(part))
		}
		out = append(out, keyed{fcall.KeyOf(agreed.Namespace, fcall.Tag(fcall.Subject(subject)), suffix, text(k.SuffixOf)), k})
	}
	for _, k := range c.Keys() {
		if k.With != "" {
			if _, v := c.at(k.With, 0); v.text == "" && len(v.rows) == 0 {
				continue
			}
		}
		if !k.Several {
			add(k, cmp.Or(c.of[k.With], c.subject), "", 0)
		}
	}
	for i, g := range c.args {
		for n, r := range c.values[i].rows {
			for _, k := range g.Keys() {
				add(k, cmp.Or(r.of, c.subject), g.Name+".", n)
			}
		}
	}
	for _, k := range c.Keys() {
		for _, s := range c.several[k.Name] {
			add(k, s, "", 0)
		}
	}
	return out
}

// words are the call's FCALL.
func (c *call) words() []string {
	keys := c.keys()
	out := append(make([]string, 0, 3+len(keys)+len(c.args)), "FCALL", c.Server, strconv.Itoa(len(keys)))
	for _, k := range keys {
		out = append(out, k.name)
	}
	for i, p := range c.args {
		text := c.values[i].text
		if p.Kind == spec.KindGroup {
			_, least := p.Field.Cells()
			packed := fcall.NewPacker(least)
			for _, r := range c.values[i].rows {
				packed.Row("")
				for _, cell := range r.cells {
					packed.OptText(cell.text)
				}
			}
			text = packed.Pack().String()
		}
		out = append(out, text)
	}
	return out
}

// durations are the spans that a call passes, and those that it means by leaving them out, in microseconds.
func (c *call) durations() (out []int64) {
	c.each(func(f spec.Field, v *value) {
		if f.Kind != spec.KindDuration {
			return
		}
		text := v.text
		if text == "" {
			text, _ = f.DefaultWord()
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			out = append(out, n)
		}
	})
	return out
}
