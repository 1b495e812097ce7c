package contract

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// An answer is what a call says of itself.
type answer struct {
	refused bool // as the header describes a refusal
	failed  bool // it is an error
	own     bool // of the function's own choice: declared, and not about unreadable state
}

// runtimeError is how Lua and the server word an error that no author has written.
var runtimeError = regexp.MustCompile(`attempt to |bad argument|invalid value|stack overflow|cannot |number expected|malformed|wrong number of arguments|Script attempted|readonly table|too many results|invalid order function|string length overflow|table overflow|not enough memory`)

// results checks what the author's function has returned.
func (w *watch) results() (a answer) {
	if w.values[0] != true {
		w.raised()
		return answer{failed: true}
	}
	values := w.values[1:]
	if len(values) == 0 || values[0] == nil {
		return answer{failed: true, own: w.failure(values)}
	}
	for _, extra := range values[min(len(values), len(w.fn.Results)):] {
		if extra != nil {
			w.add("result", 0, "returns %d values, and the header has %d", len(values), len(w.fn.Results))
		}
	}
	for i, f := range w.fn.Results {
		var v any
		if i < len(values) {
			v = values[i]
		}
		w.result(f.Name, f, v)
		if r := w.fn.Refused; r != nil && r.Result == f.Name {
			text, _ := v.(string)
			a.refused = v == false || slices.Contains(r.Values, text)
		}
	}
	return a
}

// raised checks what the function has raised.
func (w *watch) raised() {
	text, own := "an error without a text", false
	if len(w.values) > 1 {
		switch e := w.values[1].(type) {
		case string:
			text = e
		case map[any]any:
			text, own = fmt.Sprint(e["err"]), true
		}
	}
	line := w.line
	if m := lineForm.FindStringSubmatch(text); m != nil {
		line = atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	switch {
	case strings.Contains(text, "stopped after"):
	case w.foreign && indexed.MatchString(text): // JSON of another shape
	case !w.foreign || !own && runtimeError.MatchString(text):
		w.add("raised", line, "raises %q, which callers get as an error of the server: return nil and an error of the header", cut(text))
	}
}

// indexed is what a function runs into that has decoded a text which is JSON, and no object.
var indexed = regexp.MustCompile(`attempt to index a (number|boolean) value`)

var lineForm = regexp.MustCompile(`user_function:(\d+): `)

func atoi(s string) (n int) {
	fmt.Sscan(s, &n)
	return n
}

func cut(text string) string { return text[:min(len(text), 120)] }

// failure checks the error that the function returns, and reports whether it is of the function's own choice.
func (w *watch) failure(values []any) (own bool) {
	if len(values) < 2 {
		w.add("result", 0, "returns nil without an error")
		return false
	}
	table, _ := values[1].(map[any]any)
	text, ok := table["err"].(string)
	if !ok {
		w.add("result", 0, "returns nil, and no error behind it")
		return false
	}
	code, _, _ := strings.Cut(text, " ")
	switch {
	case strings.ContainsFunc(text, func(c rune) bool { return c < 32 || c > 126 }):
		w.add("error-data", 0, "the error %q has bytes that do not print: they can break the protocol", cut(text))
	case !slices.ContainsFunc(w.fn.Errors, func(e spec.Error) bool { return e.Code == code }) && !(w.foreign && code == "WRONGTYPE"):
		w.add("error-code", 0, "returns the error %q, whose code the header does not declare", cut(text))
	case code == "RLSTATE" && !w.foreign:
		w.add("own-state", 0, "answers %q, and only this library has written", cut(text))
	}
	return code != "RLSTATE" && code != "WRONGTYPE"
}

// result checks one result, or a part of one.
func (w *watch) result(name string, f spec.Field, v any) {
	wrong := func(format string, args ...any) {
		w.add("result", 0, "result "+name+" "+format, args...)
	}
	if v == nil {
		wrong("is nil")
		return
	}
	switch {
	case f.Kind == spec.KindBool:
		if _, ok := v.(bool); !ok {
			wrong("is %s, not true or false", shown(v))
		}
	case f.Kind == spec.KindEnum:
		if text, _ := v.(string); !slices.Contains(f.Values, text) {
			wrong("is %s, none of %s", shown(v), strings.Join(f.Values, ", "))
		}
	case f.Kind == spec.KindText:
		w.text(wrong, f, v)
	case f.Kind == spec.KindGroup:
		w.rows(wrong, name, f, v)
	default:
		w.number(wrong, f, v)
	}
}

func (w *watch) text(wrong func(string, ...any), f spec.Field, v any) {
	text, ok := v.(string)
	if !ok {
		wrong("is %s, not a text", shown(v))
		return
	}
	if w.garbage {
		return
	}
	if n := int64(len(text)); n < f.Min || n > f.Max {
		wrong("has %d bytes, and the header says %d to %d", n, f.Min, f.Max)
	}
	if w.passed[text] {
		return
	}
	for _, r := range w.risky {
		if strings.Contains(text, r.text) {
			w.add(r.rule, r.line, "result %s has %s", f.Name, r.what)
		}
	}
}

func (w *watch) number(wrong func(string, ...any), f spec.Field, v any) {
	n, ok := v.(float64)
	least, most := f.Span()
	if f.Kind == spec.KindDuration {
		most = 1 << 53
	}
	switch {
	case !ok:
		wrong("is %s, not a number", shown(v))
	case w.garbage:
	case math.IsNaN(n) || math.IsInf(n, 0):
		wrong("is %v", n)
	case f.Kind == spec.KindFloat && n == 0 && math.Signbit(n): // as a whole number it is sent as 0
		wrong("is -0")
	case f.Kind != spec.KindFloat && n != math.Trunc(n):
		wrong("is %v, not a whole number", n)
	case n < least || n > most:
		wrong("is %s, and the header says %s to %s", decimal(n), decimal(least), decimal(most))
	}
}

func (w *watch) rows(wrong func(string, ...any), name string, f spec.Field, v any) {
	table, ok := v.(map[any]any)
	if !ok {
		wrong("is %s, not a list", shown(v))
		return
	}
	n := 0
	for k := range table {
		if i, ok := k.(float64); ok {
			n = max(n, int(i))
		}
	}
	if n != len(table) {
		wrong("has a hole: %d elements, the last at %d", len(table), n)
		return
	}
	if f.Max > 0 && !w.garbage && (int64(n) < f.Min || int64(n) > f.Max) {
		wrong("has %d rows, and the header says %d to %d", n, f.Min, f.Max)
	}
	for i := range n {
		at := fmt.Sprintf("%s.%d", name, i)
		e := table[float64(i+1)]
		cells, ok := e.(map[any]any)
		if !ok {
			w.add("result", 0, "result %s is %s, not a row", at, shown(e))
			return
		}
		for _, c := range f.Fields {
			w.result(at+"."+c.Name, c, cells[c.Lua])
		}
	}
}

// shown is a value of Lua as a message shows it.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return fmt.Sprint(v)
	case float64:
		return "the number " + decimal(v)
	case string:
		return "the text " + word(v)
	case map[any]any:
		return "a table"
	}
	return "a function"
}
