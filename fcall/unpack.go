package fcall

import (
	"fmt"
	"slices"
	"strconv"
)

// A Result is the encoding of one of a function's results. A reply is an array of numbers, then texts:
//
//   - One number that holds all small results of the top level. Each is a digit, the first one the lowest, and the number of rows of the first group is above them.
//   - Each group: its number of rows, unless it is the first group, then column by column the small fields of a row as one number, its other numbers, and its texts.
//   - The other numbers of the top level, then its texts.
//
// Zeros and empty texts at the end are not sent. Without a group, the first of the other numbers may be above the digits if
// everything after it is zero. A reply of one number is sent as that number, without an array. A number below 0 then holds the
// digits and the first two of the other numbers, in thousands: -1 less the digits' number, less 2^6 times the first, less 2^29
// times the second.
//
// With a group, a number below 0 is a reply with one row in the first group. Its first small result at the top level is 1. All
// other results are zero, except the row's small ones and the first of its other numbers, in thousands: -1 less the small ones'
// number and, above its digits, the other. Several such rows are an array of -1 and these numbers.
type Result struct {
	Values int64    // number of values of a small result; 0 if the result is not a digit
	Text   bool     // the result is text
	Rows   []Result // the fields of a group's row
}

// maxRows bounds the allocation that a malformed reply can cause.
const maxRows = 1 << 16

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
	r.unpack(val, fn.Results)
	return r, r.err
}

func (r *Reply) unpack(val any, results []Result) {
	u := unpacker{Reply: r}
	lone := &r.lone
	switch sent := val.(type) {
	case []any:
		u.sent = sent
		if len(sent) > 1 && sent[0] == any(int64(-1)) {
			u.sent = unfold(sent, results)
		}
	case int64:
		u.sent = lone[:1]
		lone[0] = val
		word, row := firstRow(results)
		n := -(sent + 1)
		switch {
		case n < 0 || n >= MaxInt:
		case row:
			u.sent = lone[:]
			lone[0], lone[1], lone[2] = 1+above(results), n%word, n/word*1000
		case paired(results):
			u.sent = lone[:]
			lone[0], lone[1], lone[2] = n%pairHead, n/pairHead%pairNumber*1000, n/pairHead/pairNumber*1000
		}
	default:
		r.fail("", "be an array or a whole number", describe(val))
		return
	}
	u.used = 1
	head := u.number(0)
	rest := head / above(results) // the part above the digits
	var room [4]span
	at := u.groups(room[:0], results, rest)
	grouped := len(at) > 0
	ints, texts := 0, 0
	for _, f := range results {
		switch {
		case f.Rows != nil:
		case f.Text:
			texts++
		case f.Values == 0:
			ints++
		}
	}
	number, text := u.used, u.used+ints
	u.used = text + texts
	folded := !grouped && ints > 0 && len(u.sent) == 1
	if !grouped && !folded && rest > 0 {
		r.fail("element 1", "have nothing above its digits", strconv.FormatInt(head, 10))
	}
	if len(u.sent) > u.used {
		r.fail("", fmt.Sprintf("have at most %d elements", u.used), strconv.Itoa(len(u.sent)))
	}
	if r.err != nil {
		return
	}
	for _, f := range results {
		switch {
		case f.Rows != nil:
			u.rows(f.Rows, at[0].rows, at[0].first)
			at = at[1:]
		case f.Text:
			r.texts = append(r.texts, u.text(text))
			text++
		case f.Values > 0:
			r.ints = append(r.ints, head%f.Values)
			head /= f.Values
		case folded:
			r.ints = append(r.ints, rest)
			folded, rest = false, 0
			number++
		default:
			r.ints = append(r.ints, u.number(number))
			number++
		}
	}
}

// pairHead bounds the digits in a reply of one number, and pairNumber each of its two numbers in thousands.
const (
	pairHead   = 1 << 6
	pairNumber = 1 << 23
)

// paired reports whether the results have no groups and at least two numbers besides the digits.
func paired(results []Result) bool {
	numbers := 0
	for _, f := range results {
		if f.Rows != nil {
			return false
		}
		if f.Values == 0 && !f.Text {
			numbers++
		}
	}
	return numbers > 1
}

// unfold expands rows of one number each to the longer form.
func unfold(sent []any, results []Result) []any {
	worth, both := firstRow(results)
	if !both {
		return sent
	}
	n := len(sent) - 1
	out := make([]any, 1+2*n)
	out[0] = 1 + above(results)*int64(n)
	for i, val := range sent[1:] {
		one, ok := val.(int64)
		if !ok || one < 0 || one > MaxInt {
			return sent
		}
		out[1+i], out[1+n+i] = one%worth, one/worth*1000
	}
	return out
}

// above returns the weight of the number above the digits of these results.
func above(results []Result) int64 {
	worth := int64(1)
	for _, f := range results {
		if f.Values > 0 {
			worth *= f.Values
		}
	}
	return worth
}

// firstRow returns the weight of the number above the digits of the first group's row, and whether the row has both digits and
// other numbers.
func firstRow(results []Result) (worth int64, both bool) {
	for _, f := range results {
		if f.Rows != nil {
			isDigit := func(f Result) bool { return f.Values > 0 }
			isNumber := func(f Result) bool { return f.Values == 0 && !f.Text }
			return above(f.Rows), slices.ContainsFunc(f.Rows, isDigit) && slices.ContainsFunc(f.Rows, isNumber)
		}
	}
	return 1, false
}

// A span is the position of a group's columns.
type span struct{ rows, first int }

// groups finds the groups. rows is the number of rows of the first one.
func (u *unpacker) groups(at []span, results []Result, rows int64) []span {
	for _, f := range results {
		if f.Rows == nil {
			continue
		}
		if len(at) > 0 {
			rows = u.number(u.used)
			u.used++
		}
		if rows > maxRows {
			u.fail("element "+strconv.Itoa(u.used), fmt.Sprintf("have at most %d rows", maxRows), strconv.FormatInt(rows, 10))
			return append(at, span{})
		}
		at = append(at, span{int(rows), u.used})
		u.used += int(rows) * columns(f.Rows)
	}
	return at
}

// columns returns how many elements a row has.
func columns(fields []Result) int {
	n, digits := 0, 0
	for _, f := range fields {
		if f.Values > 0 {
			digits = 1
		} else {
			n++
		}
	}
	return n + digits
}

func (u *unpacker) rows(fields []Result, rows, first int) {
	u.ints = append(u.ints, int64(rows))
	digits := 0
	for _, f := range fields {
		if f.Values > 0 {
			digits = 1
		}
	}
	for i := range rows {
		var word int64
		if digits > 0 {
			word = u.number(first + i)
		}
		at := first + digits*rows + i
		for _, f := range fields {
			switch {
			case f.Values > 0:
				u.ints = append(u.ints, word%f.Values)
				word /= f.Values
			case !f.Text:
				u.ints = append(u.ints, u.number(at))
				at += rows
			}
		}
		if word > 0 {
			u.fail("element "+strconv.Itoa(first+i+1), "have nothing above its digits", strconv.FormatInt(u.number(first+i), 10))
			return
		}
		for _, f := range fields {
			if f.Text {
				u.texts = append(u.texts, u.text(at))
				at += rows
			}
		}
	}
}

// number returns an element, or 0 if it was not sent.
func (u *unpacker) number(i int) int64 {
	if i >= len(u.sent) {
		return 0
	}
	n, ok := u.sent[i].(int64)
	if !ok || n < 0 || n > MaxInt {
		u.fail("element "+strconv.Itoa(i+1), mustInt(0, MaxInt), describe(u.sent[i]))
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
