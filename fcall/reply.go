package fcall

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// A Reply reads a function's results in header order. After the first problem every method returns a zero value, and Err and
// Close return the problem. It never panics, whatever the server sent. It is not safe for concurrent use.
type Reply struct {
	fn    *Function
	ints  []int64 // unread numbers
	texts []string
	group string
	row   int
	err   error
	space [24]int64 // for short replies
	text  [2]string
	lone  [2]any // for a reply of one number
}

// Bool reads 1 or 0.
func (r *Reply) Bool(field string) bool {
	n, ok := r.int(field)
	if !ok {
		return false
	}
	if n != 0 && n != 1 {
		r.fail(field, "be 0 or 1", strconv.FormatInt(n, 10))
		return false
	}
	return n == 1
}

// Int reads a whole number from minimum to maximum.
func (r *Reply) Int(field string, minimum, maximum int64) int64 {
	n, ok := r.int(field)
	if !ok {
		return 0
	}
	if n < minimum || n > maximum {
		r.fail(field, mustInt(minimum, maximum), strconv.FormatInt(n, 10))
		return 0
	}
	return n
}

// Count reads a whole number from 0 to MaxInt.
func (r *Reply) Count(field string) int64 { return r.Int(field, 0, MaxInt) }

// Micros reads an amount of money, 0 or more.
func (r *Reply) Micros(field string) Micros { return Micros(r.Int(field, 0, MaxInt)) }

// Duration reads microseconds, 0 or more.
func (r *Reply) Duration(field string) time.Duration {
	return time.Duration(r.Int(field, 0, MaxInt)) * time.Microsecond // MaxInt microseconds are 285 years, and fit
}

// Time reads microseconds since 1970; 0 is the zero time.Time, as in an argument.
func (r *Reply) Time(field string) time.Time {
	us := r.Int(field, 0, MaxInt)
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}

// Text reads bytes.
func (r *Reply) Text(field string) string {
	if r.err != nil {
		return ""
	}
	if len(r.texts) == 0 {
		r.fail(field, "be a result of the function", "a reply without it")
		return ""
	}
	s := r.texts[0]
	r.texts = r.texts[1:]
	return s
}

// Enum reads one of the values. The server sends its index.
func (r *Reply) Enum(field string, values ...string) string {
	n, ok := r.int(field)
	if !ok {
		return ""
	}
	if n >= int64(len(values)) {
		r.fail(field, mustEnum(values), "number "+strconv.FormatInt(n, 10))
		return ""
	}
	return values[n]
}

// Rows reads the number of rows of a result group.
func (r *Reply) Rows(name string) int {
	n := r.Int(name, 0, maxRows)
	if r.err == nil {
		r.group, r.row = name, 0
	}
	return int(n)
}

// Row starts row i, counted from 0. Messages name its fields `results.0.allowed`.
func (r *Reply) Row(i int) { r.row = i }

// EndRows ends a result group.
func (r *Reply) EndRows() { r.group = "" }

// Err returns the first problem so far.
func (r *Reply) Err() error { return r.err }

// Close returns the first problem, which may be unread results.
func (r *Reply) Close() error {
	if left := len(r.ints) + len(r.texts); r.err == nil && left > 0 {
		r.group = ""
		r.fail("", "be read to its end", strconv.Itoa(left)+" results more")
	}
	return r.err
}

func (r *Reply) int(field string) (int64, bool) {
	if r.err != nil {
		return 0, false
	}
	if len(r.ints) == 0 {
		r.fail(field, "be a result of the function", "a reply without it")
		return 0, false
	}
	n := r.ints[0]
	r.ints = r.ints[1:]
	return n, true
}

func (r *Reply) fail(field, must, got string) {
	if r.err != nil {
		return
	}
	if r.group != "" {
		field = inRow(r.group, r.row, field)
	}
	r.err = &ReplyError{Function: r.fn.String(), Field: field, Must: must, Got: got}
}

// describe describes a value without its content, which may contain a subject.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return fmt.Sprintf("text of %d bytes", len(v))
	case []any:
		return fmt.Sprintf("an array of %d elements", len(v))
	case error: // go-redis returns a nested error as an element
		return "the error " + quote(v.Error())
	}
	return fmt.Sprintf("a %T", v)
}

// Signed reads a whole number between -MaxInt and MaxInt, both excluded. The server sends text, which is empty for 0.
func (r *Reply) Signed(field string) int64 {
	text := r.Text(field)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= -MaxInt || n >= MaxInt || n == 0 || strconv.FormatInt(n, 10) != text {
		r.fail(field, mustInt(1-MaxInt, MaxInt-1), describe(text))
		return 0
	}
	return n
}

var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$`)

// Float reads a finite number. The server sends text, which is empty for 0.
func (r *Reply) Float(field string) float64 {
	text := r.Text(field)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.MatchString(text) {
		r.fail(field, mustFloat(NoMin, NoMax), describe(text))
		return 0
	}
	return v
}

// JSON reads JSON into v, a pointer, as encoding/json does. A json.RawMessage has the text unchanged.
func (r *Reply) JSON(field string, v any) {
	text := r.Text(field)
	if r.err != nil {
		return
	}
	if raw, ok := v.(*json.RawMessage); ok && json.Valid([]byte(text)) {
		*raw = json.RawMessage(text)
		return
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		r.fail(field, "be JSON of its type", describe(text)+": "+quote(err.Error()))
	}
}

// ReadMap reads a map of results. It calls read for the value of each key. A repeated key is a ReplyError.
func ReadMap[V any](r *Reply, name string, read func() V) map[string]V {
	n := r.Rows(name)
	m := make(map[string]V, n)
	for i := range n {
		r.Row(i)
		key := r.Text("key")
		m[key] = read()
	}
	r.EndRows()
	if len(m) != n {
		r.fail(name, "have each key once", strconv.Itoa(n-len(m))+" repeated")
	}
	return m
}
