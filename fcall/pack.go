package fcall

import (
	"fmt"
	"strconv"
	"strings"
)

// A Pack holds the rows of a packed group as they are sent, encoded once for any number of calls, and the suffixes of their
// keys. A generated function such as PackItem makes one. It is immutable and safe for concurrent use; nil has no rows.
type Pack struct {
	arg      any // the text that a call sends, boxed once
	rows     int
	suffixes []string // row by row, the rest of each key after the tag, beginning with the brace
}

// Len returns the number of rows.
func (p *Pack) Len() int {
	if p == nil {
		return 0
	}
	return p.rows
}

// Keys returns the number of keys of all rows.
func (p *Pack) Keys() int {
	if p == nil {
		return 0
	}
	return len(p.suffixes)
}

// String returns the rows as they are sent: cells joined by commas, each row ended by a semicolon. Bytes other than A-Z a-z 0-9
// - _ . @ + / = are % and two hexadecimal digits. Omitted cells are empty, and not sent at the end of a row.
func (p *Pack) String() string {
	if p == nil {
		return ""
	}
	return p.arg.(string)
}

// A Packer encodes rows, in header order, and collects every cell that is out of bounds. It is not safe for concurrent use.
type Packer struct {
	args     Args
	text     strings.Builder
	rows     int
	required int
	suffixes []string
}

// NewPacker starts a pack of a group. Errors name function and group. The first required cells of each row are never omitted.
func NewPacker(function, group string, required int) *Packer {
	return &Packer{args: Args{fn: &Function{Name: function}, group: group}, required: required}
}

// Row starts a row and returns the Args for its cells. Key adds its keys.
func (p *Packer) Row() *Args {
	p.endRow()
	p.args.row = p.rows
	p.rows++
	return &p.args
}

// Key adds a key of the row, `<suffix>:<value>`, or `<suffix>` without a value. value is hashed unless it is plain.
func (p *Packer) Key(suffix, value string) {
	p.suffixes = append(p.suffixes, "}:"+ended(suffix, value))
}

// Pack returns the rows. Its error is an *ArgumentError or ArgumentErrors.
func (p *Packer) Pack() (*Pack, error) {
	p.endRow()
	if err := p.args.Err(); err != nil {
		return nil, err
	}
	return &Pack{arg: p.text.String(), rows: p.rows, suffixes: p.suffixes}, nil
}

func (p *Packer) endRow() {
	if p.rows == 0 {
		return
	}
	cells := p.args.cmd
	for len(cells) > p.required && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	for i, c := range cells {
		if i > 0 {
			p.text.WriteByte(',')
		}
		switch c := c.(type) {
		case int64:
			p.text.WriteString(strconv.FormatInt(c, 10))
		case string:
			writeCell(&p.text, c)
		}
	}
	p.text.WriteByte(';')
	p.args.cmd = p.args.cmd[:0]
}

func writeCell(b *strings.Builder, cell string) {
	const digits = "0123456789abcdef"
	for i := range len(cell) {
		if c := cell[i]; isPlainByte(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
}

// Pack adds a packed group of minimum to maximum rows.
func (a *Args) Pack(name string, p *Pack, minimum, maximum int64) {
	if n := int64(p.Len()); n < minimum || n > maximum {
		a.reject(name, mustRows(minimum, maximum), strconv.FormatInt(n, 10))
		return
	}
	if p == nil {
		a.omit()
		return
	}
	a.cmd = append(a.cmd, p.arg)
}

// PackKeys adds the keys of a packed group's rows, row by row. of are the rows' subjects in order; if it is empty, each row has
// the call's subject.
func (a *Args) PackKeys(name string, p *Pack, subject Subject, of []Subject) {
	rows := p.Len()
	if len(of) != 0 && len(of) != rows {
		a.addError(name+"_of", fmt.Sprintf("have a subject for each of %d rows, or none", rows), strconv.Itoa(len(of)))
		return
	}
	if rows == 0 {
		return
	}
	each := len(p.suffixes) / rows
	tag := Tag(subject)
	for i := range rows {
		if len(of) > 0 && (i == 0 || of[i] != of[i-1]) {
			if tag = Tag(of[i]); of[i] == "" {
				a.group, a.row = name, i
				a.addError("of", "not be empty", "")
				a.group = ""
			}
		}
		for _, suffix := range p.suffixes[i*each : (i+1)*each] {
			a.key(name, a.client.namespace+":{"+tag+suffix)
		}
	}
}

// OptBool adds a bool; false means omitted.
func (a *Args) OptBool(name string, v bool) {
	if !v {
		a.omit()
		return
	}
	a.Bool(name, v)
}
