package contract

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
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

	wrote bool
	reply any
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

// each visits the arguments and the cells of rows, with their fields.
func (c *call) each(visit func(f spec.Field, v value)) {
	for i, p := range c.args {
		if len(p.Fields) == 0 {
			visit(p, c.values[i])
			continue
		}
		fields := cells(p)
		for _, r := range c.values[i].rows {
			for n, v := range r.cells {
				visit(fields[n], v)
			}
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
	add := func(f spec.Field, subject, suffix string, value *string) {
		name := fcall.Key(agreed.Namespace, fcall.Subject(subject), suffix)
		if value != nil {
			name = fcall.KeyOf(agreed.Namespace, fcall.Tag(fcall.Subject(subject)), suffix, *value)
		}
		out = append(out, keyed{name, f})
	}
	for _, k := range c.Keys() {
		if k.Several {
			continue
		}
		owner := c.subject
		if k.With != "" {
			if v := c.value(k.With); v.absent || v.text == "" && len(v.rows) == 0 {
				continue
			}
			owner = cmp.Or(c.of[k.With], owner)
		}
		if k.SuffixOf == "" {
			add(k, owner, k.Suffix, nil)
		} else {
			text := c.value(k.SuffixOf).text
			add(k, owner, joined(k.Suffix, k, func(name string) string { return c.value(name).text }), &text)
		}
	}
	for i, g := range c.args {
		keys := g.Keys()
		if len(keys) == 0 {
			continue
		}
		for _, r := range c.values[i].rows {
			for _, k := range keys {
				suffix, text := k.Suffix, r.cell(g, k.SuffixOf)
				if k.SuffixKind != "" {
					suffix = r.cell(g, k.SuffixKind)
				}
				add(k, cmp.Or(r.of, c.subject), joined(suffix, k, func(name string) string { return r.cell(g, name) }), &text)
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

// joined is a key's suffix but its last part. The texts of durations are plain.
func joined(suffix string, k spec.Field, cell func(name string) string) string {
	for _, part := range k.SuffixBy {
		suffix = fcall.Suffix(suffix, cell(part))
	}
	return suffix
}

// words are the call's FCALL.
func (c *call) words() []string {
	keys := c.keys()
	out := append(make([]string, 0, 3+len(keys)+len(c.args)), "FCALL", c.Server, strconv.Itoa(len(keys)))
	for _, k := range keys {
		out = append(out, k.name)
	}
	for i, p := range c.args {
		switch v := c.values[i]; {
		case p.Kind == spec.KindGroup:
			out = append(out, pack(p, v))
		default:
			out = append(out, v.text)
		}
	}
	return out
}

// pack joins rows as fcall.Packer does, and takes cells that it would refuse.
func pack(p spec.Field, v value) string {
	var b strings.Builder
	_, least := p.Cells()
	for _, r := range v.rows {
		n := len(r.cells)
		for n > least && r.cells[n-1].text == "" {
			n--
		}
		for i, cell := range r.cells[:n] {
			if i > 0 {
				b.WriteByte(',')
			}
			for _, c := range []byte(cell.text) {
				if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-_.@+/=", c) >= 0 {
					b.WriteByte(c)
				} else {
					const digits = "0123456789abcdef"
					b.Write([]byte{'%', digits[c>>4], digits[c&15]})
				}
			}
		}
		b.WriteByte(';')
	}
	return b.String()
}

// durations are the spans that a call passes, and those that it means by leaving them out, in microseconds.
func (c *call) durations() (out []int64) {
	c.each(func(f spec.Field, v value) {
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
