package dyncall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
)

// A Call is a call of a function. It can be sent many times.
type Call struct {
	client *fcall.Client
	spec   *spec.Function
	fn     *fcall.Function
	values values
	rows   map[string]int
}

// New reads the words name=value as the header says. It returns all errors at once, as Problems, and sends nothing. The server checks bounds.
func New(client *fcall.Client, fn *spec.Function, words []string) (*Call, error) {
	v, rows, bad := split(fn, words)
	c := &Call{client: client, spec: fn, values: v, rows: rows, fn: runtime.Function(client.Library(), fn)}
	bad = append(bad, c.missing()...)
	_, unreadable := c.args()
	if bad = append(bad, unreadable...); len(bad) > 0 {
		return nil, bad
	}
	return c, nil
}

// missing describes the required arguments that no word gives.
func (c *Call) missing() (out []string) {
	for _, of := range arguments(c.spec) {
		rows := 1
		if len(of.group.Fields) > 0 || of.group.Several {
			rows = max(c.rows[of.group.Name], int(of.group.Min))
		}
		for i := range rows {
			for _, arg := range of.names {
				name := strings.Replace(arg.shape, ".N", "."+strconv.Itoa(i), 1)
				if _, given := c.values[name]; arg.needed && !given {
					out = append(out, fmt.Sprintf("%s is missing: %s", name, arg.doc))
				}
			}
		}
	}
	return out
}

// Do sends the call once.
func (c *Call) Do(ctx context.Context) (Result, error) {
	a, _ := c.args()
	reply, err := a.Call(ctx)
	if err != nil {
		return Result{}, err
	}
	return decode(reply, c.spec)
}

// args builds keys and arguments as a generated client does. It returns the words that it cannot read.
func (c *Call) args() (*fcall.Args, Problems) {
	a := c.client.Args(c.fn, 0, 0)
	var bad Problems
	add := func(a *fcall.Args, name string, f spec.Field) {
		if err := c.add(a, name, f); err != nil {
			bad = append(bad, fmt.Sprintf("%s %v", name, err))
		}
	}
	groups := map[string]fcall.Group{}
	for _, g := range c.spec.Params {
		if g.Kind == spec.KindGroup {
			groups[g.Name] = c.group(g, add)
		}
	}
	subject := fcall.Subject(c.values[spec.Subject])
	for _, k := range c.spec.Keys() {
		owner := cmp.Or(fcall.Subject(c.values[k.With+"."+ownSubject]), subject)
		switch {
		case k.Several || k.With != "" && c.values[k.With] == "" && c.rows[k.With] == 0:
		case k.SuffixOf == "":
			a.Key(owner, k.Suffix)
		default:
			a.KeyOf(owner, c.suffix(k, k.Suffix, c.spec.Params, ""), c.values[k.SuffixOf])
		}
	}
	for _, g := range c.spec.Params {
		a.GroupKeys(groups[g.Name], subject)
	}
	for _, k := range c.spec.Keys() {
		for i := range c.rows[k.Name] {
			a.Key(fcall.Subject(c.values[cellName(k, i, ownSubject)]), k.Suffix)
		}
	}
	for _, p := range c.spec.Params {
		switch p.Kind {
		case spec.KindKey:
		case spec.KindGroup:
			a.Group(groups[p.Name])
		default:
			add(a, p.Name, p)
		}
	}
	return a, bad
}

// suffix returns a key's suffix but its last part. The names of its parts begin with a prefix. One that cannot be read is found as an argument.
func (c *Call) suffix(k spec.Field, suffix string, fields []spec.Field, prefix string) string {
	for _, part := range k.SuffixBy {
		text := c.values[prefix+part]
		i := slices.IndexFunc(fields, func(f spec.Field) bool { return f.Name == part && f.Kind == spec.KindDuration })
		if i < 0 {
			suffix = fcall.Suffix(suffix, text)
			continue
		}
		us, _ := number(fields[i], text)
		suffix = fcall.Suffix(suffix, time.Duration(us)*time.Microsecond)
	}
	return suffix
}

func cellName(g spec.Field, row int, field string) string {
	return fmt.Sprintf("%s.%d.%s", g.Name, row, field)
}

// group encodes the rows of a group.
func (c *Call) group(g spec.Field, add func(a *fcall.Args, name string, f spec.Field)) fcall.Group {
	cells, least := g.Cells()
	p := fcall.NewPacker(least)
	for i := range c.rows[g.Name] {
		p.Row(fcall.Subject(c.values[cellName(g, i, ownSubject)]))
		for _, f := range cells {
			add(&p.Args, cellName(g, i, f.Name), f)
		}
		for _, k := range g.Keys() {
			suffix := k.Suffix
			if k.SuffixKind != "" {
				suffix = c.values[cellName(g, i, k.SuffixKind)]
			}
			p.RowKey(c.suffix(k, suffix, g.Fields, cellName(g, i, "")), c.values[cellName(g, i, k.SuffixOf)])
		}
	}
	return p.Pack()
}

func (c *Call) add(a *fcall.Args, name string, f spec.Field) error {
	text, given := c.values[name]
	if !given && (f.Optional || f.Kind != spec.KindBool) {
		a.OptText("") // which omits it, whatever its kind
		return nil
	}
	switch f.Kind {
	case spec.KindBool:
		b, err := given, error(nil)
		if given {
			b, err = boolean(text)
		}
		if f.Optional && !f.TrueByDefault() {
			a.OptBool(b)
		} else {
			a.Bool(b)
		}
		return err
	case spec.KindText, spec.KindEnum:
		a.Text(text)
	case spec.KindFloat:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("must be a decimal number such as 0.5, got %q", text)
		}
		a.Float(n)
	default:
		n, err := number(f, text)
		if err != nil {
			return err
		}
		a.Int(n)
	}
	return nil
}
