// Package annotation reads the header above a Lua function: the contract of the function, line by line.
//
// A header is the block of `---` lines directly above `local function`. Its first lines are prose; its rows begin
// with a tag. A row's text continues on the next line if that is indented by four or more blanks.
package annotation

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// A tag is the word after the @ of a row.
const (
	tagLibrary = "library"
	tagLib     = "lib"
	tagUse     = "use"
	tagFlags   = "flags"
	tagSubject = "subject"
	tagKey     = "key"
	tagArg     = "arg"
	tagResult  = "result"
	tagRefused = "refused"
	tagRecords = "records"
	tagMust    = "must"
	tagError   = "error"
	tagState   = "state"
)

var tags = []string{tagLibrary, tagLib, tagUse, tagFlags, tagSubject, tagKey, tagArg, tagMust, tagResult, tagRefused, tagRecords, tagError, tagState}

// A row is one tagged line with its continuation lines.
type row struct {
	tag       string
	line, col int    // of the @
	text      string // behind the tag
	textCol   int    // column of text's first byte
	more      []string
}

// A header is a block of `---` lines.
type header struct {
	first, last int // lines
	summary     string
	doc         string
	rows        []row
}

// doc is a row's prose: what is left of its line, with its continuation lines.
func (r row) doc(rest string) string {
	return strings.Join(append([]string{strings.TrimSpace(rest)}, r.more...), " ")
}

// readHeader reads the block of `---` lines that ends on line last; nil when there is none.
func readHeader(f *luasrc.File, last int, found *diag.List) *header {
	var block []luasrc.Comment
	for _, c := range slices.Backward(f.Comments) {
		if c.Line == last-len(block) && c.Own && !c.Long && isHeaderLine(c.Text) {
			block = append(block, c)
		}
	}
	if len(block) == 0 {
		return nil
	}
	slices.Reverse(block)
	h := &header{first: block[0].Line, last: last}
	var prose []string
	for _, c := range block {
		body := c.Text[3:]
		text := strings.TrimLeft(body, " \t")
		col := c.Col + 3 + len(body) - len(text)
		switch {
		case strings.HasPrefix(text, "@"):
			h.rows = append(h.rows, readRow(c.Line, col, text))
		case len(h.rows) > 0 && text != "" && len(body)-len(text) >= 4:
			last := &h.rows[len(h.rows)-1]
			last.more = append(last.more, strings.TrimSpace(text))
		case len(h.rows) > 0 && text != "":
			found.Add(f.Path, c.Line, col, RuleHeader,
				"prose after the first tag: move it above the tags, or indent it by four blanks to continue the row above")
		case len(h.rows) == 0:
			prose = append(prose, strings.TrimSpace(text))
		}
	}
	h.summary, h.doc = splitProse(prose)
	return h
}

// isHeaderLine accepts `---` and `--- text`, but not lines of dashes and ordinary comments.
func isHeaderLine(text string) bool {
	return strings.HasPrefix(text, "---") && !strings.HasPrefix(text, "----")
}

func readRow(line, col int, text string) row {
	tag, rest := text[1:], ""
	if end := strings.IndexAny(tag, " \t"); end >= 0 {
		tag, rest = tag[:end], tag[end+1:]
	}
	r := row{tag: tag, line: line, col: col}
	r.text = strings.TrimLeft(rest, " \t")
	r.textCol = col + len(text) - len(r.text)
	r.text = strings.TrimRight(r.text, " \t")
	return r
}

// splitProse takes the first paragraph as the summary and joins the others' lines, one paragraph a line.
func splitProse(lines []string) (summary, doc string) {
	var paragraphs []string
	var current []string
	for _, line := range append(lines, "") {
		if line != "" {
			current = append(current, line)
		} else if len(current) > 0 {
			paragraphs = append(paragraphs, strings.Join(current, " "))
			current = nil
		}
	}
	if len(paragraphs) == 0 {
		return "", ""
	}
	return paragraphs[0], strings.Join(paragraphs[1:], "\n\n")
}

// typeWord cuts a type off a row's text, whose default may be a quoted text with blanks.
func typeWord(text string, col int) (w, rest string, wordCol, restCol int) {
	w, rest, wordCol, restCol = word(text, col)
	if i := strings.Index(w, `="`); i >= 0 && !strings.Contains(w[i+2:], `"`) {
		if end := strings.IndexByte(rest, '"'); end >= 0 {
			return w + rest[:end+1], rest[end+1:], wordCol, restCol + end + 1
		}
	}
	return w, rest, wordCol, restCol
}

// word cuts the next blank-separated word off a row's text and returns its column.
func word(text string, col int) (w, rest string, wordCol, restCol int) {
	trimmed := strings.TrimLeft(text, " \t")
	wordCol = col + len(text) - len(trimmed)
	end := strings.IndexAny(trimmed, " \t")
	if end < 0 {
		return trimmed, "", wordCol, wordCol + len(trimmed)
	}
	return trimmed[:end], trimmed[end:], wordCol, wordCol + end
}

var tagLike = regexp.MustCompile(`^-+\s*@([a-zA-Z]+)\b`)

// stray finds comments outside the header that look like rows: nothing would read them.
func stray(f *luasrc.File, h *header, found *diag.List) {
	for _, c := range f.Comments {
		if h != nil && c.Line >= h.first && c.Line <= h.last && isHeaderLine(c.Text) {
			continue
		}
		m := tagLike.FindStringSubmatch(c.Text)
		if m == nil || !slices.Contains(tags, m[1]) && spelling.Nearest(m[1], tags) == "" {
			continue
		}
		if isHeaderLine(c.Text) {
			found.Add(f.Path, c.Line, c.Col, RuleStrayTag, "@%s stands outside the header: the header is the unbroken block of --- lines directly above the function", m[1])
		} else {
			found.Add(f.Path, c.Line, c.Col, RuleStrayTag, "@%s is written with three dashes, in the header", m[1])
		}
	}
}

var (
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	suffixForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	codeForm   = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)
	semverForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
)

var luaKeywords = []string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not",
	"or", "repeat", "return", "then", "true", "until", "while",
}

// unitSuffixes are name endings for units, which belong in the type.
var unitSuffixes = []string{"_us", "_ms", "_ns", "_sec", "_secs", "_seconds", "_micros", "_millis", "_min", "_minutes"}

func isKeyword(name string) bool { return slices.Contains(luaKeywords, name) }
