package dyncall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
)

// A Result is the result of a call, in header order.
type Result struct {
	Fields  []Value
	refused *spec.Refused
}

// A Value is one field of a result. A group has Rows.
type Value struct {
	Field spec.Field
	Bool  bool
	Int   int64
	Text  string
	Float float64
	Rows  []Result
}

func decode(reply *fcall.Reply, fn *spec.Function) (Result, error) {
	r := Result{Fields: make([]Value, len(fn.Results)), refused: fn.Refused}
	for i, f := range fn.Results {
		if f.Kind != spec.KindGroup {
			r.Fields[i] = read(reply, f)
			continue
		}
		group := Value{Field: f, Rows: make([]Result, reply.Rows(f.Name))}
		for n := range group.Rows {
			reply.Row(n)
			for _, inner := range f.Fields {
				group.Rows[n].Fields = append(group.Rows[n].Fields, read(reply, inner))
			}
		}
		reply.EndRows()
		r.Fields[i] = group
	}
	return r, reply.Err()
}

func read(reply *fcall.Reply, f spec.Field) Value {
	v := Value{Field: f}
	switch f.Kind {
	case spec.KindBool:
		v.Bool = reply.Bool(f.Name)
	case spec.KindText, spec.KindEnum:
		v.Text = reply.Text(f.Name)
	case spec.KindFloat:
		v.Float = reply.Float(f.Name)
	default:
		v.Int = reply.Int(f.Name)
	}
	return v
}

// Outcome returns the word under which a call is counted. It depends on the result that decides about a refusal, or else on the first
// result. For an enum it is its value. For a bool it is its name; if the bool is false, "refused" for a refusal and "not_" with its name
// otherwise. For all others it is "done".
func (r Result) Outcome() string {
	v := r.deciding()
	switch {
	case v.Field.Kind == spec.KindEnum:
		return v.Text
	case v.Field.Kind != spec.KindBool:
		return "done"
	case v.Bool:
		return v.Field.Name
	case r.refused != nil:
		return "refused"
	}
	return "not_" + v.Field.Name
}

// Refused reports whether the function refused the call, by its header.
func (r Result) Refused() bool {
	if r.refused == nil {
		return false
	}
	v := r.deciding()
	return v.Field.Kind == spec.KindBool && !v.Bool || slices.Contains(r.refused.Values, v.Text)
}

func (r Result) deciding() Value {
	for _, v := range r.Fields {
		if r.refused != nil && v.Field.Name == r.refused.Result {
			return v
		}
	}
	return r.Fields[0]
}

// MarshalJSON writes one object in header order: durations as decimal seconds, times as RFC 3339 and null for 0, enums by name.
func (r Result) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, v := range r.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", v.Field.Name)
		text, err := v.json()
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (v Value) json() ([]byte, error) {
	switch v.Field.Kind {
	case spec.KindBool:
		return json.Marshal(v.Bool)
	case spec.KindText, spec.KindEnum:
		return json.Marshal(v.Text)
	case spec.KindFloat:
		return json.Marshal(v.Float)
	case spec.KindDuration:
		return []byte(Seconds(v.Int)), nil
	case spec.KindTime:
		if v.Int == 0 {
			return []byte("null"), nil
		}
		return json.Marshal(v.time())
	case spec.KindGroup:
		if len(v.Rows) == 0 {
			return []byte("[]"), nil
		}
		return json.Marshal(v.Rows)
	}
	return json.Marshal(v.Int)
}

// Seconds writes microseconds as decimal seconds, exactly and without trailing zeros: 5987654 is 5.987654.
func Seconds(us int64) string {
	text := fmt.Sprintf("%d.%06d", us/1e6, us%1e6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func (v Value) time() string { return time.UnixMicro(v.Int).UTC().Format(time.RFC3339Nano) }

// printable quotes a text with characters that do not print, such as a terminal's escape codes, and one that looks quoted.
func printable(text string) string {
	if quoted := strconv.Quote(text); strings.HasPrefix(text, `"`) || strings.Contains(quoted, `\`) {
		return quoted
	}
	return text
}

// Lines returns the result as text, a name and a value per line.
func (r Result) Lines() []string { return r.lines("") }

func (r Result) lines(prefix string) []string {
	width := 0
	for _, v := range r.Fields {
		width = max(width, len(v.Field.Name))
	}
	var out []string
	for _, v := range r.Fields {
		if v.Field.Kind == spec.KindGroup {
			for i, row := range v.Rows {
				out = append(out, row.lines(fmt.Sprintf("%s%s.%d.", prefix, v.Field.Name, i))...)
			}
			continue
		}
		out = append(out, fmt.Sprintf("%s%-*s  %s", prefix, width, v.Field.Name, v.String()))
	}
	return out
}

// String returns the value with its unit.
func (v Value) String() string {
	switch v.Field.Kind {
	case spec.KindBool:
		return strconv.FormatBool(v.Bool)
	case spec.KindText:
		return printable(v.Text)
	case spec.KindEnum:
		return v.Text
	case spec.KindFloat:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case spec.KindDuration:
		return Seconds(v.Int) + "s"
	case spec.KindTime:
		if v.Int == 0 {
			return "none"
		}
		return v.time()
	}
	return strconv.FormatInt(v.Int, 10)
}
