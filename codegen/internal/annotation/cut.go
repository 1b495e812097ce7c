package annotation

import (
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
)

// Cut returns a file as a bundle holds it: with its lines where they were, and without what only people read. Of comments it keeps headers
// and those that rlfunc reads, and of headers the first sentence and what Load needs.
func Cut(f *luasrc.File) string {
	lines := strings.Split(f.Text, "\n")
	for i, block := 0, []luasrc.Comment(nil); i < len(f.Comments); i++ {
		c := f.Comments[i]
		header := c.Own && !c.Long && isHeaderLine(c.Text)
		if header {
			block = append(block, c)
		}
		if !header && !c.Long && !strings.Contains(c.Text, "rlfunc:") {
			lines[c.Line-1] = strings.TrimRight(lines[c.Line-1][:c.Col-1], " \t")
		}
		if len(block) > 0 && (i+1 == len(f.Comments) || f.Comments[i+1].Line != c.Line+1) {
			cutHeader(lines, block)
			block = nil
		}
	}
	return strings.Join(lines, "\n")
}

// cutHeader cuts a block of `---` lines. One without a tag is no header.
func cutHeader(lines []string, block []luasrc.Comment) {
	const prose, after, row, cut = 0, 1, 2, 3 // where it is: in the first paragraph, behind it, in a row that is kept, in one whose text is cut
	at, tagged := prose, false
	for _, c := range block {
		tagged = tagged || strings.HasPrefix(strings.TrimLeft(c.Text[3:], " \t"), "@")
	}
	for _, c := range block {
		text := strings.TrimLeft(c.Text[3:], " \t")
		switch {
		case strings.HasPrefix(text, "@"):
			at = row
			r := readRow(c.Line, c.Col+len(c.Text)-len(text), text)
			text = strings.TrimRight(c.Text, " \t")
			if kept, ok := withoutDoc(r); ok { // what is kept stays where it was, as findings have columns
				at, text = cut, strings.TrimRight(c.Text[:r.textCol-c.Col+kept], " \t")+" ."
			}
		case at == prose && text == "":
			at, text = after, "---"
		case at == prose || at == row:
			text = strings.TrimRight(c.Text, " \t")
		default:
			text = "---"
		}
		if !tagged {
			text = ""
		}
		lines[c.Line-1] = text
	}
}

// withoutDoc returns how much of a row's text is not what says what it is; ok is false if nothing does.
func withoutDoc(r row) (kept int, ok bool) {
	_, rest, _, _ := word(r.text, 0)
	switch r.tag {
	case tagKey, tagArg, tagResult:
		_, rest, _, _ = typeWord(rest, 0)
		if first, doc, _, _ := word(rest, 0); first == lasting {
			rest = doc
		}
	case tagState:
		_, rest, _, _ = word(rest, 0)
	case tagError:
	case tagSubject:
		rest = r.text
	default:
		return 0, false
	}
	return len(r.text) - len(rest), true
}
