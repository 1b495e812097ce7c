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

// MaxFileSize is how many bytes a file may have.
const MaxFileSize = 1 << 20

// Load reads the policy in a file. What is wrong with its content comes back as an [*Error], else it is the file's error.
func Load(path string) (*Policy, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// read takes a byte more than a policy may have, so that Parse tells.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return data, nil
}

// Parse reads a policy in YAML; file is its name in errors, each of which is an [*Error]. Anchors, aliases and merges
// work; top-level keys that start with x- are left alone and may hold what is used again. What is absent stays zero.
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
	if p := unreadable(data); p != nil {
		return nil, problems{*p}
	}
	tokens := lexer.Tokenize(string(data))
	if p := misshapen(tokens); p != nil {
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

// document returns the one document of a file. Nothing at all is refused: it is what a file has while it is written.
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
		return nil, &Problem{Line: 1, Column: 1, Message: "is empty: a policy has at least `version: 1`"}
	}
	return root, nil
}

func position(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return t.Position.Line, t.Position.Column
}
