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

// A Result is the encoding of one of a function's results. A reply is a list of records: that of the results outside groups, in which a
// group is its number of rows, then that of each row. docs/reference/wire.md describes it with examples.
type Result struct {
	Values int64    // number of values of a small result, which is a digit of its record's number; 0 for others
	Text   bool     // the result is text
	Rows   []Result // the fields of a group's row
}

const (
	maxRows    = 1 << 16 // bounds the allocation that a malformed reply can cause
	wide       = 1 << 20 // a result of so many values may be greater, and is then sent by itself
	pairSmall  = 1 << 5  // bounds the small results of a record that is one number with two others
	pairNumber = 1 << 23 // bounds the first of those, in thousands
)

// How a record's number n below 0 holds the rest: the lowest two bits of -1-n. The small results are above them.
const (
	listed   = iota // the other numbers follow
	thousand        // the first of the others is above the small results, in thousands
	pair            // so are the first two
)

// An unpacker turns a reply into the results' numbers and texts in header order. The rows of each group follow their number.
type unpacker struct {
	*Reply
	sent []any
	used int // number of decoded elements
}

// decode decodes a server's reply into r, for the methods of Reply to read.
func (r *Reply) decode(fn *Function, val any) (*Reply, error) {
	*r = Reply{fn: fn}
	r.ints, r.texts = r.space[:0], r.text[:0]
	u := unpacker{Reply: r}
	switch sent := val.(type) {
	case []any:
		u.sent = sent
	case int64:
		r.lone[1] = val
		u.sent = r.lone[1:]
		if p := partsOf(fn.Results); sent < 0 && p.groups > 0 && p.texts == 0 { // the one row of a reply whose first result is 1
			r.lone[0] = 1 + p.above()
			u.sent = r.lone[:]
		}
	default:
		r.fail("", "be an array or a whole number", describe(val))
		return r, r.err
	}
	u.record(fn.Results, partsOf(fn.Results))
	if len(u.sent) > u.used {
		r.fail("", fmt.Sprintf("have at most %d elements", u.used), strconv.Itoa(len(u.sent)))
	}
	return r, r.err
}

// parts is what a record is made of.
type parts struct {
	small    int64 // the weight of what is above the small results, without the wide one
	wide     int64 // how many values that one has; 1 if there is none
	groups   int
	numbers  int // others than small ones, the wide one and those of rows
	listable int // how many numbers follow if they are listed
	texts    int
}

func partsOf(fields []Result) parts {
	p := parts{small: 1, wide: 1}
	for _, f := range fields {
		switch {
		case f.Rows != nil:
			p.groups++
			p.listable++
		case f.Text:
			p.texts++
		case f.Values == 0:
			p.numbers++
			p.listable++
		case f.Values == wide:
			p.wide = wide
			p.listable++
		default:
			p.small *= f.Values
		}
	}
	return p
}

// above is the weight of what is above the small results and the wide one.
func (p *parts) above() int64 { return p.small * p.wide }

// record reads a record, and after it the rows of its groups.
func (u *unpacker) record(fields []Result, p parts) {
	place := u.used
	n := u.number(place, -MaxInt)
	u.used++
	var others [2]int64 // the first of the other numbers
	list := false
	if n >= 0 {
		others[0], n = n/p.above(), n%p.above()
	} else {
		how := (-1 - n) & 3
		n = (-1 - n) >> 2
		switch how {
		case listed:
			list = true
			u.used += p.listable
		case thousand:
			others[0], n = n/p.above()*1000, n%p.above()
		case pair:
			others[0], others[1], n = n/pairSmall%pairNumber*1000, n/pairSmall/pairNumber*1000, n%pairSmall
		default:
			u.fail("element "+strconv.Itoa(place+1), "be the number of a record", describe(u.sent[place]))
		}
	}
	other := func(i int) int64 {
		switch {
		case list:
			return u.number(place+1+i, 0)
		case i < len(others):
			return others[i]
		}
		return 0
	}
	group, number, text := 0, p.groups, u.used
	u.used += p.texts
	small, above := n%p.small, n/p.small // above is the wide result's
	for _, f := range fields {
		switch {
		case u.err != nil:
			return
		case f.Rows != nil:
			u.rows(f.Rows, place, other(group))
			group++
		case f.Text:
			u.texts = append(u.texts, u.text(text))
			text++
		case f.Values == wide && !list:
			u.ints = append(u.ints, above)
			above = 0
		case f.Values == 0 || f.Values == wide:
			u.ints = append(u.ints, other(number))
			number++
		default:
			u.ints = append(u.ints, small%f.Values)
			small /= f.Values
		}
	}
	if most := p.groups + p.numbers; above > 0 || most < 1 && others[0] > 0 || most < 2 && others[1] > 0 {
		u.fail("element "+strconv.Itoa(place+1), "have nothing above its digits", describe(u.sent[place]))
	}
}

func (u *unpacker) rows(fields []Result, place int, rows int64) {
	if rows > maxRows {
		u.fail("element "+strconv.Itoa(place+1), fmt.Sprintf("have at most %d rows", maxRows), strconv.FormatInt(rows, 10))
		return
	}
	u.ints = append(u.ints, rows)
	p := partsOf(fields)
	textsOnly := p.texts == len(fields)
	for range rows {
		if !textsOnly {
			u.record(fields, p)
			continue
		}
		for range fields {
			u.texts = append(u.texts, u.text(u.used))
			u.used++
		}
	}
}

// number returns an element, or 0 if it was not sent.
func (u *unpacker) number(i int, minimum int64) int64 {
	if i >= len(u.sent) {
		return 0
	}
	n, ok := u.sent[i].(int64)
	if !ok || n < minimum || n > MaxInt {
		u.fail("element "+strconv.Itoa(i+1), mustInt(minimum, MaxInt), describe(u.sent[i]))
		return 0
	}
	return n
}

// text returns an element, or "" if it was not sent.
func (u *unpacker) text(i int) string {
	if i >= len(u.sent) {
		return ""
	}
	s, ok := u.sent[i].(string)
	if !ok {
		u.fail("element "+strconv.Itoa(i+1), "be text", describe(u.sent[i]))
	}
	return s
}
