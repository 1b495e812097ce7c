package contract

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"

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

// A value is an argument, or a cell of a row.
type value struct {
	absent bool
	text   string // as it travels
	rows   []row  // of a group
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

// has reports whether a row has this text in a cell.
func (v value) has(cell int, text string) bool {
	return slices.ContainsFunc(v.rows, func(r row) bool { return r.cells[cell].text == text })
}

// value returns an argument by its name.
func (c *call) value(name string) value {
	for i, p := range c.args {
		if p.Name == name {
			return c.values[i]
		}
	}
	return value{absent: true}
}

// cell returns the text of a row's field.
func (r row) cell(g spec.Field, name string) string {
	for i := range r.cells {
		if fields := cells(g); fields[i].Name == name {
			return r.cells[i].text
		}
	}
	return ""
}

// cellsOf keeps what cells has made, by the first of a group's fields.
var cellsOf sync.Map

// cells are the fields of a row that have cells.
func cells(g spec.Field) []spec.Field {
	if len(g.Fields) == 0 {
		return nil
	}
	if made, ok := cellsOf.Load(&g.Fields[0]); ok {
		return made.([]spec.Field)
	}
	made := slices.DeleteFunc(slices.Clone(g.Fields), func(f spec.Field) bool { return f.Kind == spec.KindKey })
	cellsOf.Store(&g.Fields[0], made)
	return made
}

// each visits the arguments and the cells of rows, with their fields, for a change or none.
func (c *call) each(visit func(f spec.Field, v *value)) {
	for i, p := range c.args {
		if len(p.Fields) == 0 {
			visit(p, &c.values[i])
			continue
		}
		fields := cells(p)
		for _, r := range c.values[i].rows {
			for n := range r.cells {
				visit(fields[n], &r.cells[n])
			}
		}
	}
}

// rename passes another name in each text of a call that names no key, another duration, and a time that is still to come.
func (c *call) rename(n int, now int64) {
	for i, p := range c.args {
		switch v := &c.values[i]; {
		case v.absent || slices.ContainsFunc(c.Params, func(k spec.Field) bool {
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
	add := func(f spec.Field, subject, suffix string, cell func(name string) string) {
		for _, part := range f.SuffixBy { // the texts of durations are plain
			suffix = fcall.Suffix(suffix, cell(part))
		}
		name := fcall.Key(agreed.Namespace, fcall.Subject(subject), suffix)
		if f.SuffixOf != "" {
			name = fcall.KeyOf(agreed.Namespace, fcall.Tag(fcall.Subject(subject)), suffix, cell(f.SuffixOf))
		}
		out = append(out, keyed{name, f})
	}
	for _, k := range c.Keys() {
		if v := c.value(k.With); k.Several || k.With != "" && (v.absent || v.text == "" && len(v.rows) == 0) {
			continue
		}
		add(k, cmp.Or(c.of[k.With], c.subject), k.Suffix, func(name string) string { return c.value(name).text })
	}
	for i, g := range c.args {
		for _, r := range c.values[i].rows {
			cell := func(name string) string { return r.cell(g, name) }
			for _, k := range g.Keys() {
				add(k, cmp.Or(r.of, c.subject), cmp.Or(cell(k.SuffixKind), k.Suffix), cell)
			}
		}
	}
	for _, k := range c.Keys() {
		for _, s := range c.several[k.Name] {
			add(k, s, k.Suffix, nil)
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
		if p.Kind == spec.KindGroup {
			out = append(out, pack(p, c.values[i]))
		} else {
			out = append(out, c.values[i].text)
		}
	}
	return out
}

func pack(g spec.Field, v value) string {
	_, least := g.Cells()
	p := fcall.NewPacker(least)
	for _, r := range v.rows {
		p.Row("")
		for _, cell := range r.cells {
			p.OptText(cell.text)
		}
	}
	return p.Pack().String()
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
