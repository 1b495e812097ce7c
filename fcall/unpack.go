package fcall

import (
	"fmt"
	"slices"
	"strconv"
)

// A Result says how one of a function's results travels. A reply is whole numbers, with texts behind them:
//
//   - one number that holds all small results of the top level, each a digit of it, the first the lowest, and above them how many
//     rows the first group has;
//   - for each group how many rows it has, but for the first one, then column by column the small fields of a row as one number, its
//     other numbers, and its texts;
//   - the other numbers of the top level, then its texts.
//
// Zeros and empty texts at the end are not sent. Where there is no group, the first of the other numbers may stand above the digits
// if all behind it is zero. A reply of one number is sent as that number, without an array. Below 0 it holds the digits and the first
// two of the other numbers, in thousands: -1 less the digits' number, less 2^6 times the first, less 2^29 times the second.
//
// Where there is a group, a number below 0 is the reply with one row of the first group, whose first small result at the top level is 1 and whose other results
// are zero but for the row's small ones and the first of its other numbers, in thousands: -1 less the small ones' number and, above its
// digits, the other. Several such rows are an array of -1 and these numbers.
type Result struct {
	Values int64    // how many values a small result has; 0 for what is no digit
	Text   bool     // whether it is text
	Rows   []Result // the fields of a group's row
}

// mostRows bounds what a broken reply lets a client allocate.
const mostRows = 1 << 16

// An unpacker turns a reply as it was sent into the results' numbers and texts in the header's order, each group's rows behind their
// number.
type unpacker struct {
	*Reply
	sent []any
	used int // elements that have a meaning
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
	rest := head / above(results) // what stands above the digits
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

// pairHead bounds the digits, and pairNumber each of two numbers in thousands, that a reply of one number holds.
const (
	pairHead   = 1 << 6
	pairNumber = 1 << 23
)

// paired reports whether the results are without groups and have two numbers besides the digits.
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

// unfold turns rows of one number each into what a longer reply sends of them.
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

// above is what stands above the digits of these results is worth.
func above(results []Result) int64 {
	worth := int64(1)
	for _, f := range results {
		if f.Values > 0 {
			worth *= f.Values
		}
	}
	return worth
}

// firstRow is what stands above the digits of the first group's row is worth, and whether the row has both digits and other numbers.
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

// A span is where a group's columns stand.
type span struct{ rows, first int }

// groups finds the groups; the first one has so many rows.
func (u *unpacker) groups(at []span, results []Result, rows int64) []span {
	for _, f := range results {
		if f.Rows == nil {
			continue
		}
		if len(at) > 0 {
			rows = u.number(u.used)
			u.used++
		}
		if rows > mostRows {
			u.fail("element "+strconv.Itoa(u.used), fmt.Sprintf("tell of at most %d rows", mostRows), strconv.FormatInt(rows, 10))
			return append(at, span{})
		}
		at = append(at, span{int(rows), u.used})
		u.used += int(rows) * columns(f.Rows)
	}
	return at
}

// columns is how many elements a row takes.
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

// number is an element, or 0 where it was not sent.
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

// text is an element, or empty where it was not sent.
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
