package policy

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Bounds of a file's text: the time of the YAML parser grows with the square of these.
const (
	maxLine      = 16 << 10 // bytes of a line
	maxBrackets  = 1000     // open brackets
	maxDocuments = 10       // lines that begin a document or a directive
	maxMarks     = 300_000  // characters that begin, end or separate values
)

// checkBytes finds the first byte that must not reach the parser, or returns nil.
func checkBytes(data []byte) *Problem {
	if len(data) > MaxFileSize {
		return &Problem{Line: 1, Column: 1, Message: fmt.Sprintf("must have at most %d bytes: set large overrides in Go", MaxFileSize)}
	}
	number, brackets, documents, marks := 0, 0, 0, 0
	for line := range bytes.Lines(data) {
		number++
		if len(line) > maxLine {
			return &Problem{Line: number, Column: maxLine, Message: fmt.Sprintf("must have at most %d bytes in a line", maxLine)}
		}
		if bytes.HasPrefix(line, []byte("---")) || line[0] == '%' {
			documents++
		}
		column := 0
		for rest := line; len(rest) > 0; {
			r, size := utf8.DecodeRune(rest)
			rest = rest[size:]
			if isMark(r, rest) {
				marks++
			}
			column++
			message := ""
			switch {
			case r == utf8.RuneError && size == 1:
				message = "must be UTF-8"
			case r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f:
				message = fmt.Sprintf("must have no control character %U", r)
			case r == '[' || r == '{':
				brackets++
			case (r == ']' || r == '}') && brackets > 0:
				brackets--
			}
			if brackets > maxBrackets {
				message = fmt.Sprintf("must have at most %d open brackets", maxBrackets)
			} else if documents > maxDocuments {
				message = "must be one document"
			} else if marks > maxMarks {
				message = fmt.Sprintf("must have at most %d YAML punctuation marks: set large overrides in Go", maxMarks)
			}
			if message != "" {
				return &Problem{Line: number, Column: column, Message: message}
			}
		}
	}
	return nil
}

// isMark reports whether a character may begin, end or separate values; rest is the text after it.
func isMark(r rune, rest []byte) bool {
	switch r {
	case '[', ']', '{', '}', ',', '"', '\'', '#', '&', '*', '!', '|', '>':
		return true
	case '-', '?', ':':
		return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n'
	}
	return false
}
