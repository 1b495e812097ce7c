package fcall

import (
	"fmt"
	"strconv"
	"strings"
)

// A Pack is the rows of a packed group as they travel, encoded once for any number of calls, and the ends of their keys. A generated
// function such as PackItem makes one. It never changes, so it is safe for concurrent use; nil has no rows.
type Pack struct {
	arg      any // text that a call sends, boxed once
	rows     int
	suffixes []string // of the keys of the first row, the second, ...: what stands behind the tag, with the brace
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

// String returns the rows as they travel: cells joined by commas, every row ended by a semicolon, other bytes than A-Z a-z 0-9 - _ . @
// + / = as % and two hexadecimal digits. Optional cells that are absent are empty, and left out at the end of a row.
func (p *Pack) String() string {
	if p == nil {
		return ""
	}
	return p.arg.(string)
}

// A Packer encodes rows, in header order, and collects every cell that is out of bounds. Not safe for concurrent use.
type Packer struct {
	args     Args
	text     strings.Builder
	rows     int
	required int
	suffixes []string
}

// NewPacker starts a pack of a group. function and group name it in errors; the first required cells of each row are always there.
func NewPacker(function, group string, required int) *Packer {
	return &Packer{args: Args{fn: &Function{Name: function}, group: group}, required: required}
}

// Row starts a row, whose cells are added to the returned Args. It has no keys: Key adds those.
func (p *Packer) Row() *Args {
	p.endRow()
	p.args.row = p.rows
	p.rows++
	return &p.args
}

// Key adds a key of the row that ends in a suffix and the row's value, folded if it is not plain: `<suffix>:<value>`.
func (p *Packer) Key(suffix, value string) {
	p.suffixes = append(p.suffixes, "}:"+suffix+":"+Tag(Subject(value)))
}

// Pack returns the rows, or what is wrong with them: an *ArgumentError or ArgumentErrors.
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

// Pack adds a packed group of least to most rows.
func (a *Args) Pack(name string, p *Pack, least, most int64) {
	if n := int64(p.Len()); n < least || n > most {
		a.refuse(name, mustRows(least, most), strconv.FormatInt(n, 10))
		return
	}
	if p == nil {
		a.absent()
		return
	}
	a.cmd = append(a.cmd, p.arg)
}

// PackKeys adds the keys of a packed group's rows: those of the first row, then those of the second. of are the subjects of the rows, in
// their order; without any, each row is of the call's subject.
func (a *Args) PackKeys(name string, p *Pack, subject Subject, of []Subject) {
	rows := p.Len()
	if len(of) != 0 && len(of) != rows {
		a.wrong(name+"_of", fmt.Sprintf("have a subject for each of %d rows, or none", rows), strconv.Itoa(len(of)))
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
				a.wrong("of", "not be empty", "")
				a.group = ""
			}
		}
		for _, suffix := range p.suffixes[i*each : (i+1)*each] {
			a.key(name, a.client.namespace+":{"+tag+suffix)
		}
	}
}

// OptBool adds a bool that is absent when false.
func (a *Args) OptBool(name string, v bool) {
	if !v {
		a.absent()
		return
	}
	a.Bool(name, v)
}
