package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxFileSize is the most bytes of a file, 256 KiB: the time of the YAML parser grows with the square of some files.
const MaxFileSize = 256 << 10

// The YAML parser recurses for each level of a file.
const (
	maxLine     = 16 << 10 // bytes of a line
	maxBrackets = 100      // open brackets
)

// checkBytes finds the first byte that must not reach the parser, or returns nil.
func checkBytes(data []byte) *Problem {
	if len(data) > MaxFileSize {
		return &Problem{Line: 1, Column: 1, Message: fmt.Sprintf("must have at most %d bytes: set large overrides in Go", MaxFileSize)}
	}
	line, column, start, brackets := 1, 0, 0, 0
	for i, r := range string(data) {
		message := ""
		switch column++; {
		case r == '\n':
			line, column, start = line+1, 0, i+1
		case r == utf8.RuneError && data[i] != "\uFFFD"[0]:
			message = "must be UTF-8"
		case r < ' ' && r != '\r' && r != '\t' || r == 0x7f:
			message = fmt.Sprintf("must have no control character %U", r)
		case r == '[' || r == '{':
			brackets++
		case (r == ']' || r == '}') && brackets > 0:
			brackets--
		}
		if i-start >= maxLine {
			message = fmt.Sprintf("must have at most %d bytes in a line", maxLine)
		} else if brackets > maxBrackets {
			message = fmt.Sprintf("must have at most %d open brackets", maxBrackets)
		}
		if message != "" {
			return &Problem{Line: line, Column: column, Message: message}
		}
	}
	return nil
}

// Load reads the policy in a file. It returns an [*Error] if the content is invalid, and the file's error otherwise.
func Load(path string) (*Policy, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// readFile reads at most one byte more than Parse accepts.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return data, nil
}

// Parse reads a policy in YAML. Its errors are [*Error] and name file. It supports anchors, aliases and merges, and ignores
// top-level keys that start with x-. Omitted values stay zero.
func Parse(file string, data []byte) (*Policy, error) {
	p, found := parse(data)
	for i := range found {
		found[i].File = file
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return p, nil
}

func parse(data []byte) (*Policy, problems) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if p := checkBytes(data); p != nil {
		return nil, problems{*p}
	}
	tokens := lexer.Tokenize(string(data))
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, problems{*syntax(err)}
	}
	root, wrong := document(file)
	if wrong != nil {
		return nil, problems{*wrong}
	}
	d := newDecoder(root)
	p := &Policy{}
	d.decode("", root, reflect.ValueOf(p).Elem())
	p.eachLimit(func(at, _ string, l *Limit) {
		if rate := d.at[at+".rate"]; rate != nil && d.at[at+".limit"] == nil && d.at[at+".window"] == nil {
			d.at[at+".limit"], d.at[at+".window"] = rate, rate
			if checkRate(l.Rate) == "" {
				delete(d.at, at+".rate")
			}
		}
	})
	p.expandRates()
	d.addPlans(p)
	for _, problem := range p.check(d.isGiven, d.isBad) {
		if !d.isBad(problem.Path) {
			d.found = append(d.found, d.locate(problem))
		}
	}
	return p, d.found
}

func syntax(err error) *Problem {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return problemAt(nil, text)
	}
	return problemAt(at.GetToken(), at.GetMessage())
}

// document returns the one document of a file. An empty file is an error: it may be incomplete, because a writer truncates it first.
func document(file *ast.File) (ast.Node, *Problem) {
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			return nil, problemAt(first(doc.Body), "must be one document")
		}
		root = doc.Body
	}
	switch root.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, problemAt(nil, "is empty: write at least `version: 1`")
	}
	return root, nil
}

func problemAt(t *token.Token, message string) *Problem {
	line, column := position(t)
	return &Problem{Line: line, Column: column, Message: message}
}

func position(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return t.Position.Line, t.Position.Column
}

// A Problem is one error in a policy. File, Line and Column are zero for a policy in Go.
type Problem struct {
	File    string `json:"file"`             // name of the file, as the caller gave it
	Line    int    `json:"line,omitempty"`   // from 1
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Path    string `json:"path,omitempty"`   // such as endpoints[0].limits[1].window; "" for the whole policy
	Message string `json:"message"`          // such as "must be 1us to 3650d, got 0s"
}

// String returns file:line:col: path: message, without parts that are zero.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			b.WriteString(strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ":")
		}
		b.WriteByte(' ')
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// maxProblems is the most problems in an Error, besides one that counts the rest.
const maxProblems = 100

// An Error holds the problems of a policy by position, at least one. After 100 problems, one more counts the rest.
type Error struct {
	Problems []Problem
}

// Error returns one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

type problems []Problem

func (ps *problems) add(path, format string, args ...any) {
	*ps = append(*ps, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (ps problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if rest := len(ps) - maxProblems; rest > 0 {
		last := ps[maxProblems]
		ps = append(ps[:maxProblems:maxProblems], Problem{File: last.File, Line: last.Line, Column: last.Column, Message: fmt.Sprintf("and %d more problems", rest)})
	}
	return &Error{Problems: ps}
}
