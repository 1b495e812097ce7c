package fcall

import (
	"strconv"
	"strings"
)

// Rows are the rows of an argument, of the generated type R. A generated function such as PackLimit encodes them, once for any number of
// calls. They are immutable and safe for concurrent use; the zero value has no rows.
type Rows[R any] struct {
	Group
	each []R
}

// Pack returns rows that a Packer has encoded.
func Pack[R any](rows []R, p *Packer) Rows[R] { return Rows[R]{p.Pack(), rows} }

// Each returns the rows, as they were before For. They are not to be changed.
func (r Rows[R]) Each() []R { return r.each }

// For returns the same rows for other subjects, in their order: the rows are encoded once, and each call says whom they are about. A row
// whose subject is empty or missing has the call's.
func (r Rows[R]) For(subjects ...Subject) Rows[R] {
	r.of = subjects
	return r
}

// A Group is Rows of any type.
type Group struct {
	packed *packed
	of     []Subject // of the rows, in order; "" and those that are missing are the call's
}

type packed struct {
	text     any // what a call sends, boxed once
	rows     int
	suffixes []string // row by row, the rest of each key after the tag, beginning with the brace
}

// Len returns the number of rows.
func (g Group) Len() int {
	if g.packed == nil {
		return 0
	}
	return g.packed.rows
}

// Keys returns the number of keys of all rows.
func (g Group) Keys() int {
	if g.packed == nil {
		return 0
	}
	return len(g.packed.suffixes)
}

// String returns the rows as they are sent: cells joined by commas, each row ended by a semicolon. Bytes other than A-Z a-z 0-9
// - _ . @ + / = are % and two hexadecimal digits. Omitted cells are empty, and not sent at the end of a row.
func (g Group) String() string {
	if g.packed == nil {
		return ""
	}
	return g.packed.text.(string)
}

// A Packer encodes rows, whose cells it takes in header order. It is not safe for concurrent use.
type Packer struct {
	Args

	text     strings.Builder
	group    Group
	rows     int
	required int
	suffixes []string
}

// NewPacker starts a group. The first required cells of each row are never omitted.
func NewPacker(required int) *Packer { return &Packer{required: required} }

// Row starts a row of a subject; "" is the call's.
func (p *Packer) Row(of Subject) {
	p.endRow()
	p.rows++
	if of != "" {
		for len(p.group.of) < p.rows-1 {
			p.group.of = append(p.group.of, "")
		}
		p.group.of = append(p.group.of, of)
	}
}

// RowKey adds a key of the row, `<suffix>:<value>`, or `<suffix>` without a value. value is hashed unless it is plain.
func (p *Packer) RowKey(suffix, value string) {
	p.suffixes = append(p.suffixes, "}:"+ended(suffix, value))
}

// Pack returns the rows.
func (p *Packer) Pack() Group {
	p.endRow()
	if p.rows > 0 {
		p.group.packed = &packed{text: p.text.String(), rows: p.rows, suffixes: p.suffixes}
	}
	return p.group
}

func (p *Packer) endRow() {
	if p.rows == 0 {
		return
	}
	cells := p.cmd
	for len(cells) < p.required { // a required cell may be empty
		cells = append(cells, "")
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
	p.cmd, p.omitted = p.cmd[:0], 0
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
