package fcall

import (
	"fmt"
	"strconv"
	"time"
)

// A Reply reads a function's flat reply from first to last. After the first problem every method returns a zero, and Err
// and Close return the problem; nothing panics, whatever the server sent. Not safe for concurrent use.
type Reply struct {
	fn    *Function
	vals  []any
	next  int
	group string
	row   int
	err   error
}

func newReply(fn *Function, val any) (*Reply, error) {
	vals, ok := val.([]any)
	if !ok {
		return nil, &ReplyError{Function: fn.String(), Must: "be an array", Got: describe(val)}
	}
	return &Reply{fn: fn, vals: vals}, nil
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

// Int reads a whole number from least to most.
func (r *Reply) Int(field string, least, most int64) int64 {
	n, ok := r.int(field)
	if !ok {
		return 0
	}
	if n < least || n > most {
		r.fail(field, mustInt(least, most), strconv.FormatInt(n, 10))
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
	v, ok := r.take(field)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail(field, "be text", describe(v))
	}
	return s
}

// Enum reads one of the values.
func (r *Reply) Enum(field string, values ...string) string {
	s := r.Text(field)
	if r.err != nil {
		return ""
	}
	for _, v := range values {
		if s == v {
			return s
		}
	}
	r.fail(field, mustEnum(values), quote(s))
	return ""
}

// Rows reads how many rows of a result group follow, each of so many fields. It is never more than the reply can hold.
func (r *Reply) Rows(name string, fields int) int {
	n := r.Int(name, 0, MaxInt)
	if r.err != nil {
		return 0
	}
	if left := len(r.vals) - r.next; fields < 1 || n > int64(left/fields) {
		r.fail(name, fmt.Sprintf("be followed by its rows of %d fields", fields), fmt.Sprintf("%d rows and %d elements", n, left))
		return 0
	}
	r.group, r.row = name, 0
	return int(n)
}

// Row says that the fields of row i follow, counted from 0; messages name them `results.0.allowed`.
func (r *Reply) Row(i int) { r.row = i }

// EndRows ends a result group.
func (r *Reply) EndRows() { r.group = "" }

// Err returns the first problem so far.
func (r *Reply) Err() error { return r.err }

// Close returns the first problem, elements that nobody read among them.
func (r *Reply) Close() error {
	if r.err == nil && r.next != len(r.vals) {
		r.group = ""
		r.fail("", fmt.Sprintf("have %d elements", r.next), strconv.Itoa(len(r.vals)))
	}
	return r.err
}

func (r *Reply) int(field string) (int64, bool) {
	v, ok := r.take(field)
	if !ok {
		return 0, false
	}
	n, ok := v.(int64)
	if !ok {
		r.fail(field, "be a whole number", describe(v))
	}
	return n, ok
}

func (r *Reply) take(field string) (any, bool) {
	if r.err != nil {
		return nil, false
	}
	if r.next >= len(r.vals) {
		r.fail(field, "be element "+strconv.Itoa(r.next+1), fmt.Sprintf("a reply of %d elements", len(r.vals)))
		return nil, false
	}
	v := r.vals[r.next]
	r.next++
	return v, true
}

func (r *Reply) fail(field, must, got string) {
	if r.group != "" {
		field = r.group + "." + strconv.Itoa(r.row) + "." + field
	}
	r.err = &ReplyError{Function: r.fn.String(), Field: field, Must: must, Got: got}
}

// describe never shows content: a reply may carry what a subject is.
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
	case error: // go-redis hands a nested error over as an element
		return "the error " + quote(v.Error())
	}
	return fmt.Sprintf("a %T", v)
}
