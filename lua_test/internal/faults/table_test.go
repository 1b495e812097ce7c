package faults

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every row of docs/reference/faults.md leads to tests that are there, and every test here has a row.
func TestTable_isOfTestsThatAreThere(t *testing.T) {
	const page = "../../../docs/reference/faults.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	link := regexp.MustCompile(`\[(Test\w+)\]\(([^)]+_test\.go)\)`)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		links := link.FindAllStringSubmatch(line, -1)
		if len(links) == 0 || strings.Count(line, "|") != 6 {
			t.Errorf("a row without a test, or not of five columns: %s", line)
		}
		for _, m := range links {
			named[m[1]] = true
			if !tests(t, filepath.Join(filepath.Dir(page), m[2]))[m[1]] {
				t.Errorf("%s has no %s", m[2], m[1])
			}
		}
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for name := range tests(t, file) {
			if name != "TestMain" && name != t.Name() && !named[name] {
				t.Errorf("%s of %s has no row in docs/reference/faults.md", name, file)
			}
		}
	}
}

// tests are the test functions of a file.
func tests(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			found[f.Name.Name] = true
		}
	}
	return found
}
