package dyncall

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
)

// A Call is a call of a function with checked arguments. It can be sent many times.
type Call struct {
	client *fcall.Client
	spec   *spec.Function
	fn     *fcall.Function
	values values
	rows   map[string]int
}

// New checks the words name=value against the contract. It returns all errors at once, as Problems, and sends nothing.
func New(client *fcall.Client, fn *spec.Function, words []string) (*Call, error) {
	v, rows, bad := split(fn, words)
	c := &Call{client: client, spec: fn, values: v, rows: rows, fn: runtime.Function(client.Library(), fn)}
	bad = append(bad, c.missing()...)
	a, unreadable, err := c.args()
	if bad = append(bad, unreadable...); len(bad) > 0 {
		return nil, bad
	}
	if err = errors.Join(err, a.Err()); err != nil {
		return nil, err
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
	a, _, _ := c.args()
	reply, err := a.Call(ctx)
	if err != nil {
		return Result{}, err
	}
	return decode(reply, c.spec)
}

// args builds keys and arguments as a generated client does. It returns the words that it cannot read, and the errors in rows of packed
// groups.
func (c *Call) args() (*fcall.Args, Problems, error) {
	a := c.client.Args(c.fn, 0, 0)
	var bad Problems
	var wrong []error
	c.eachKey(a.Key, a.RowKey)
	add := func(a *fcall.Args, name string, f spec.Field) {
		if err := c.add(a, name, f); err != nil {
			bad = append(bad, fmt.Sprintf("%s %v", name, err))
		}
	}
	for _, p := range c.spec.Params {
		switch p.Kind {
		case spec.KindKey:
		case spec.KindGroup:
			a.Rows(p.Name, c.rows[p.Name], p.Min, p.Max)
			for i := range c.rows[p.Name] {
				a.Row(i)
				for _, f := range p.Fields {
					if f.Kind != spec.KindKey {
						add(a, fmt.Sprintf("%s.%d.%s", p.Name, i, f.Name), f)
					}
				}
			}
			a.EndRows()
		case spec.KindList:
			item := p.Fields[0]
			item.Name = ""
			a.Rows(p.Name, c.rows[p.Name], p.Min, p.Max)
			for i := range c.rows[p.Name] {
				a.Row(i)
				add(a, fmt.Sprintf("%s.%d", p.Name, i), item)
			}
			a.EndRows()
		case spec.KindPacked:
			cells, least := p.Cells()
			packer := fcall.NewPacker(c.fn.String(), p.Name, least)
			for i := range c.rows[p.Name] {
				row := packer.Row()
				for _, f := range cells {
					add(row, fmt.Sprintf("%s.%d.%s", p.Name, i, f.Name), f)
				}
			}
			pack, err := packer.Pack()
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			a.Pack(p.Name, pack, p.Min, p.Max)
		default:
			add(a, p.Name, p)
		}
	}
	return a, bad, errors.Join(wrong...)
}

// eachKey calls own for each key that ends in a word, and of for each that ends in a value.
func (c *Call) eachKey(own func(name string, subject fcall.Subject, suffix string), of func(name string, subject fcall.Subject, suffix, value string)) {
	subject := fcall.Subject(c.values[spec.Subject])
	for i, k := range c.spec.Keys() {
		if k.Several {
			continue
		}
		if i == 0 {
			k.Name = spec.Subject
		}
		if k.With == "" || c.values[k.With] != "" || c.rows[k.With] > 0 {
			if owner := cmp.Or(fcall.Subject(c.values[k.With+"."+ownSubject]), subject); k.SuffixOf == "" {
				own(k.Name, owner, k.Suffix)
			} else {
				of(k.Name, owner, k.Suffix, c.values[k.SuffixOf])
			}
		}
	}
	for _, g := range c.spec.Params {
		for i := range c.rows[g.Name] {
			owner := subject
			if own, given := c.values[fmt.Sprintf("%s.%d.%s", g.Name, i, ownSubject)]; given && ownSubjects(g) {
				owner = fcall.Subject(own)
			}
			for _, k := range g.Keys() {
				suffix := k.Suffix
				if k.SuffixKind != "" {
					suffix = c.values[fmt.Sprintf("%s.%d.%s", g.Name, i, k.SuffixKind)]
				}
				of(k.Name, owner, suffix, c.values[fmt.Sprintf("%s.%d.%s", g.Name, i, k.SuffixOf)])
			}
		}
	}
	for _, k := range c.spec.Keys() {
		if k.Several {
			for i := range c.rows[k.Name] {
				own(k.Name, fcall.Subject(c.values[fmt.Sprintf("%s.%d.%s", k.Name, i, ownSubject)]), k.Suffix)
			}
		}
	}
}

// Keys returns the keys of the call in a namespace.
func (c *Call) Keys(namespace string) (keys []string) {
	c.eachKey(func(_ string, subject fcall.Subject, suffix string) {
		keys = append(keys, fcall.Key(namespace, subject, suffix))
	}, func(_ string, subject fcall.Subject, suffix, value string) {
		keys = append(keys, fcall.KeyOf(namespace, fcall.Tag(subject), suffix, value))
	})
	return keys
}

// Of returns the same call for another subject: the given one with a number appended.
func (c *Call) Of(number int) *Call {
	other := *c
	other.values = maps.Clone(c.values)
	other.values[spec.Subject] = fmt.Sprintf("%s-%d", c.values[spec.Subject], number)
	return &other
}

func (c *Call) add(a *fcall.Args, name string, f spec.Field) error {
	text, given := c.values[name]
	if !given && (f.Optional || f.Kind != spec.KindBool) {
		a.OptText(f.Name, "", 0, 0) // which omits it, whatever its kind
		return nil
	}
	switch f.Kind {
	case spec.KindBool:
		b, err := given, error(nil)
		if given {
			b, err = boolean(text)
		}
		if f.Optional && !f.TrueByDefault() {
			a.OptBool(f.Name, b)
		} else {
			a.Bool(f.Name, b)
		}
		return err
	case spec.KindBytes:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("must be bytes in base64, such as YWJj, got %q", text)
		}
		a.Text(f.Name, string(raw), f.Min, f.Max)
	case spec.KindJSON:
		a.JSON(f.Name, json.RawMessage(text), f.Min, f.Max)
	case spec.KindText:
		a.Text(f.Name, text, f.Min, f.Max)
	case spec.KindEnum:
		a.Enum(f.Name, text, f.Values...)
	case spec.KindFloat:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("must be a decimal number such as 0.5, got %q", text)
		}
		a.Float(f.Name, n, f.Min, f.Max)
	default:
		n, err := number(f, text)
		if err != nil {
			return err
		}
		switch f.Kind {
		case spec.KindDuration:
			a.Duration(f.Name, time.Duration(n)*time.Microsecond, f.Min, f.Max)
		case spec.KindTime:
			a.Time(f.Name, time.UnixMicro(n), f.Min, f.Max)
		default:
			a.Int(f.Name, n, f.Min, f.Max)
		}
	}
	return nil
}
