package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxFileSize is the most bytes of a file, 1 MiB.
const MaxFileSize = 1 << 20

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
	if p := checkShape(tokens); p != nil {
		return nil, problems{*p}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, problems{syntax(err)}
	}
	root, wrong := document(file)
	if wrong != nil {
		return nil, problems{*wrong}
	}
	d := newDecoder(root)
	p := &Policy{}
	d.decode("", root, reflect.ValueOf(p).Elem())
	for _, problem := range p.check(d.isGiven, d.isBad) {
		if !d.isBad(problem.Path) {
			d.found = append(d.found, d.locate(problem))
		}
	}
	return p, d.found
}

func syntax(err error) Problem {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return Problem{Line: 1, Column: 1, Message: text}
	}
	line, column := position(at.GetToken())
	return Problem{Line: line, Column: column, Message: at.GetMessage()}
}

// document returns the one document of a file. An empty file is an error: it may be incomplete, because a writer truncates it first.
func document(file *ast.File) (ast.Node, *Problem) {
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			line, column := position(first(doc.Body))
			return nil, &Problem{Line: line, Column: column, Message: "must be one document"}
		}
		root = doc.Body
	}
	switch root.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, &Problem{Line: 1, Column: 1, Message: "is empty: write at least `version: 1`"}
	}
	return root, nil
}

func position(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return t.Position.Line, t.Position.Column
}
