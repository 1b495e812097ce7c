package policy

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
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

// Bounds of a file's shape. The YAML parser recurses for each level and for each key of a block mapping, moves all tokens for
// each empty value, and keeps the path of each value. Its time and memory grow with products of these.
const (
	maxDepth = 32   // levels of lists and mappings
	maxKeys  = 500  // keys of a block mapping: one without braces
	maxEmpty = 1000 // keys and list entries without a value
	maxPath  = 600  // bytes of the keys that lead to a value
)

// checkShape returns the first position where the tokens exceed a bound, or nil.
func checkShape(tokens token.Tokens) *Problem {
	var s shape
	for _, t := range tokens {
		if t.Type == token.CommentType {
			continue
		}
		if message := s.add(t); message != "" {
			return problemAt(t, message)
		}
		s.last = t
	}
	return nil
}

// A shape follows the tokens of a file.
type shape struct {
	levels []level
	path   int // bytes of the levels' keys
	empty  int
	last   *token.Token
	start  *token.Token // first token of the line, or after its last - or ?
	key    int          // column of the last key
}

// A level is an open list or mapping.
type level struct {
	column int // 0 for a flow level: one in brackets or braces
	list   bool
	keys   int
	bytes  int  // length of the current key
	valued bool // the entry of a flow mapping has a colon
}

func (s *shape) add(t *token.Token) string {
	if s.isEmptyBefore(t) {
		s.empty++
	}
	if s.start == nil || s.start.Position.Line != t.Position.Line {
		s.start = t
	}
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		s.push(level{list: t.Type == token.SequenceStartType})
	case token.SequenceEndType, token.MappingEndType:
		if s.inFlow() {
			s.pop()
		}
	case token.CollectEntryType:
		if s.inFlow() {
			s.setKey(0)
			s.top().valued = false
		}
	case token.MappingValueType, token.MappingKeyType:
		s.addKey(t)
	case token.SequenceEntryType:
		if !s.inFlow() {
			s.closeTo(t.Position.Column, true)
			if s.column() != t.Position.Column || !s.top().list { // a list may begin at the column of its key
				s.push(level{column: t.Position.Column, list: true})
			}
		}
		s.start = nil
	}
	return s.problem()
}

func (s *shape) addKey(t *token.Token) {
	size := 0
	if s.last != nil {
		size = len(s.last.Value)
	}
	if s.inFlow() {
		s.top().valued = true
		s.setKey(size)
		return
	}
	s.key = s.start.Position.Column
	s.closeTo(s.key, false)
	if s.column() != s.key {
		s.push(level{column: s.key})
	}
	s.top().keys++
	s.setKey(size)
	if t.Type == token.MappingKeyType {
		s.start = nil
	}
}

// isEmptyBefore reports whether the parser adds an empty value before t.
func (s *shape) isEmptyBefore(t *token.Token) bool {
	switch {
	case s.last == nil:
		return false
	case s.inFlow():
		return !s.top().list && (t.Type == token.CollectEntryType || t.Type == token.MappingEndType) &&
			s.last.Type != token.MappingStartType && s.last.Type != token.CollectEntryType &&
			(!s.top().valued || s.last.Type == token.MappingValueType)
	case s.last.Type == token.SequenceEntryType:
		return t.Position.Column <= s.last.Position.Column
	}
	return s.last.Type == token.MappingValueType && t.Position.Line != s.last.Position.Line &&
		(t.Position.Column < s.key || t.Position.Column == s.key && t.Type != token.SequenceEntryType)
}

func (s *shape) problem() string {
	switch {
	case len(s.levels) > maxDepth:
		return fmt.Sprintf("must be nested at most %d levels deep", maxDepth)
	case s.path > maxPath:
		return fmt.Sprintf("must have at most %d bytes in the keys that lead to a value", maxPath)
	case s.empty > maxEmpty:
		return fmt.Sprintf("must have at most %d keys and list entries without a value: remove them or write their values", maxEmpty)
	case len(s.levels) > 0 && s.top().keys > maxKeys:
		return fmt.Sprintf("must have at most %d keys in a mapping without braces: write {key: value, ...} instead", maxKeys)
	}
	return ""
}

func (s *shape) top() *level { return &s.levels[len(s.levels)-1] }

func (s *shape) inFlow() bool { return len(s.levels) > 0 && s.top().column == 0 }

// column returns the column of the innermost block level, or 0.
func (s *shape) column() int {
	if len(s.levels) == 0 {
		return 0
	}
	return s.top().column
}

func (s *shape) push(l level) { s.levels = append(s.levels, l) }

func (s *shape) pop() {
	s.setKey(0)
	s.levels = s.levels[:len(s.levels)-1]
}

func (s *shape) setKey(size int) {
	s.path += size - s.top().bytes
	s.top().bytes = size
}

// closeTo closes the block levels that a list entry or a key at a column ends.
func (s *shape) closeTo(column int, list bool) {
	for len(s.levels) > 0 && !s.inFlow() {
		if l := s.top(); l.column < column || l.column == column && (list || !l.list) {
			return
		}
		s.pop()
	}
}
