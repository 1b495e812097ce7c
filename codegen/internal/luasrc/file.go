// Package luasrc reads one Lua source file: its syntax tree, its tokens with their columns, and its comments.
//
// The tree is gopher-lua's, which knows lines and no columns, and drops comments; the tokens and comments stand
// beside it so that every finding can name a column.
package luasrc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
)

// A File is one parsed Lua source file.
type File struct {
	Path     string // slash-separated, relative to the source root
	Text     string
	Lines    []string
	Chunk    []ast.Stmt
	Tokens   []ast.Token
	Comments []Comment
}

// A Comment is one line comment, or one line of a long one.
type Comment struct {
	Line, Col int    // of the first dash
	Text      string // with its dashes, without the newline
	Long      bool   // --[[ ... ]]
	Own       bool   // nothing but blanks stands before it on its line
}

// RuleSyntax is the rule ID of everything that is not Lua 5.1.
const RuleSyntax = "syntax"

// Parse reads a file. If it is not Lua 5.1, Parse returns findings and no file.
func Parse(path, text string) (*File, diag.List) {
	var found diag.List
	if i := strings.IndexByte(text, 0); i >= 0 {
		line, col := position(text, i)
		found.Add(path, line, col, RuleSyntax, "the file holds a NUL byte: Lua source is text")
		return nil, found
	}
	if len(text) > sizeLimit {
		found.Add(path, 1, 1, RuleSyntax, "the file has %d bytes, and a Lua file here at most %d", len(text), sizeLimit)
		return nil, found
	}
	if i := strings.IndexByte(text, '\r'); i >= 0 {
		line, col := position(text, i)
		found.Add(path, line, col, RuleSyntax, "a carriage return without a line feed: lines end in LF or CR LF")
		return nil, found
	}
	chunk, err := parseChunk(path, text)
	if err != nil {
		line, col, message := syntaxError(err, text)
		found.Add(path, line, col, RuleSyntax, "%s", message)
		return nil, found
	}
	if line := tooDeep(chunk); line > 0 {
		line = min(line, strings.Count(text, "\n")+1)
		found.Add(path, line, 1, RuleSyntax, "more than %d levels of nesting: Lua itself stops at 200", depthLimit)
		return nil, found
	}
	f := &File{
		Path:     path,
		Text:     text,
		Lines:    strings.Split(text, "\n"),
		Chunk:    chunk,
		Comments: comments(text),
	}
	f.Tokens = tokens(text, path)
	if found := f.unloadable(); len(found) > 0 {
		return nil, found
	}
	return f, nil
}

// sizeLimit keeps the time and the stack of a parse bounded; hand-written files are far shorter. No file of this size has a jump over
// 131,071 instructions or 262,144 constants, which Lua refuses.
const sizeLimit = 128 << 10

// parseChunk calls gopher-lua's parser and turns its panics into errors.
func parseChunk(path, text string) (chunk []ast.Stmt, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("the parser gave up: %v", e)
		}
	}()
	return parse.Parse(strings.NewReader(text), path)
}

// Column returns the column of token text on a line, counting from the n-th occurrence (0 is the first); 1 where it does not.
func (f *File) Column(line int, token string, n int) int {
	for _, t := range f.Tokens {
		if t.Pos.Line == line && (t.Str == token || t.Name == token) {
			if n == 0 {
				return t.Pos.Column
			}
			n--
		}
	}
	return f.Indent(line)
}

// Indent is the column of the first byte of a line that is not blank.
func (f *File) Indent(line int) int {
	if line < 1 || line > len(f.Lines) {
		return 1
	}
	text := f.Lines[line-1]
	return len(text) - len(strings.TrimLeft(text, " \t")) + 1
}

func tokens(text, path string) []ast.Token {
	scanner := parse.NewScanner(strings.NewReader(text), path)
	lexer := &parse.Lexer{}
	var out []ast.Token
	for {
		token, err := scanner.Scan(lexer)
		if err != nil || token.Type < 0 {
			return out
		}
		out = append(out, token)
		lexer.PrevTokenType = token.Type
	}
}

func syntaxError(err error, text string) (line, col int, message string) {
	var pe *parse.Error
	if !errors.As(err, &pe) {
		return 1, 1, err.Error()
	}
	line, col = pe.Pos.Line, pe.Pos.Column
	switch {
	case line < 1: // at the end of the file
		line, col = position(text, len(text))
	case col < 1 && line > 1: // the scanner has stepped over the end of the line
		line--
		col = len(strings.Split(text, "\n")[line-1]) + 1
	}
	message = pe.Message
	if pe.Token != "" {
		message = fmt.Sprintf("%s near %q", pe.Message, pe.Token)
	}
	return line, max(col, 1), message
}

func position(text string, offset int) (line, col int) {
	before := text[:offset]
	line = strings.Count(before, "\n") + 1
	return line, offset - strings.LastIndexByte(before, '\n')
}
