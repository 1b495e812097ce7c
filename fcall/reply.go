package fcall

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Reply reads a function's results in header order. After the first problem every method returns a zero value, and Err
// returns the problem. It never panics, whatever the server sent. It is not safe for concurrent use.
//
// Results that are left over are those of a newer library, and nobody reads them.
type Reply struct {
	fn    *Function
	left  []any // unread results; in a group, of the row
	after []any // in a group, what follows it
	rows  []any // in a group, the fields of its rows, each of which has width
	width int
	group string
	row   int
	err   error
	lone  [1]any
}

// Bool reads 1 or 0.
func (r *Reply) Bool(field string) bool { return r.whole(field, 0, 1) == 1 }

// Int reads a whole number between -MaxInt and MaxInt.
func (r *Reply) Int(field string) int64 { return r.whole(field, -MaxInt, MaxInt) }

func (r *Reply) whole(field string, minimum, maximum int64) int64 {
	v := r.next()
	if n, ok := v.(int64); ok && minimum <= n && n <= maximum {
		return n
	}
	r.fail(field, fmt.Sprintf("be a whole number from %d to %d", minimum, maximum), v)
	return 0
}

// Duration reads microseconds, 0 or more.
func (r *Reply) Duration(field string) time.Duration {
	return time.Duration(r.whole(field, 0, MaxInt)) * time.Microsecond // MaxInt microseconds are 285 years, and fit
}

// Time reads microseconds since 1970; 0 is the zero time.Time, as in an argument.
func (r *Reply) Time(field string) time.Time {
	us := r.whole(field, 0, MaxInt)
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}

// Text reads bytes, or the word of an enum. A newer library may have words that this client does not know.
func (r *Reply) Text(field string) string {
	v := r.next()
	s, ok := v.(string)
	if !ok {
		r.fail(field, "be text", v)
	}
	return s
}

// Float reads the text of a finite number.
func (r *Reply) Float(field string) float64 {
	text := r.Text(field)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		r.fail(field, "be a finite number", text)
		return 0
	}
	return v
}

// ReadRows reads the rows of a group.
func ReadRows[R any](r *Reply, name string, read func(*Reply) R) []R {
	rows := make([]R, r.Rows(name))
	for i := range rows {
		r.Row(i)
		rows[i] = read(r)
	}
	r.EndRows()
	return rows
}

// Rows begins a group, and returns the number of its rows. EndRows ends it.
func (r *Reply) Rows(name string) int {
	rows := r.whole(name, 0, MaxInt)
	r.after = r.left
	if rows == 0 {
		return 0
	}
	width := r.whole(name, 1, MaxInt)
	if r.err == nil && rows > int64(len(r.left))/width {
		r.fail(name, fmt.Sprintf("be %d rows of %d fields", rows, width), absent{})
	}
	if r.err != nil {
		return 0
	}
	r.group, r.width = name, int(width)
	r.rows, r.after = r.left[:rows*width], r.left[rows*width:]
	return int(rows)
}

// Row begins row i, counted from 0. Messages name its fields `results.0.allowed`.
func (r *Reply) Row(i int) {
	if r.err == nil {
		r.row, r.left = i, r.rows[i*r.width:(i+1)*r.width]
	}
}

// EndRows ends a group.
func (r *Reply) EndRows() { r.group, r.left = "", r.after }

// Err returns the first problem so far.
func (r *Reply) Err() error { return r.err }

// absent stands for a result that a reply does not have.
type absent struct{}

func (r *Reply) next() any {
	switch {
	case r.err != nil:
		return nil
	case len(r.left) == 0:
		return absent{}
	}
	v := r.left[0]
	r.left = r.left[1:]
	return v
}

func (r *Reply) fail(field, must string, got any) {
	if r.err != nil {
		return
	}
	if r.group != "" {
		field = strings.TrimSuffix(r.group+"."+strconv.Itoa(r.row)+"."+field, ".")
	}
	r.err = &ReplyError{Function: r.fn.String(), Field: field, Must: must, Got: describe(got)}
}

// describe describes a value without its content, which may contain a subject.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case absent:
		return "a reply without it"
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

// quote quotes at most 32 bytes of a server's text, on one line.
func quote(s string) string {
	const maximum = 32
	if len(s) <= maximum {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:maximum]) + fmt.Sprintf("... (%d bytes)", len(s))
}

// decode begins to read a server's reply: an array of the results, or the only result itself. That one may have been followed by others in a
// newer library, so an array then begins with it.
func (r *Reply) decode(fn *Function, val any) *Reply {
	*r = Reply{fn: fn}
	if sent, ok := val.([]any); ok {
		r.left = sent
		return r
	}
	r.lone[0] = val
	r.left = r.lone[:]
	return r
}
