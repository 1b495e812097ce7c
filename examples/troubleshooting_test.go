package examples

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A reader searches the page for the text of an error, so each text in it is one that the code says.
func TestTroubleshooting_textsAreOfTheCode(t *testing.T) {
	var texts strings.Builder
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(path, -1, len(text)), text, nil, 0)
		for kind := token.ILLEGAL; kind != token.EOF; {
			var literal string
			if _, kind, literal = s.Scan(); kind == token.STRING {
				said, _ := strconv.Unquote(literal)
				fmt.Fprintln(&texts, said)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "../docs/reference/troubleshooting.md")
	found := regexp.MustCompile("(?m)^(?:### |- )`([^`]+)`").FindAllStringSubmatch(page, -1)
	if len(found) < 20 {
		t.Fatalf("the page has %d texts", len(found))
	}
	for _, text := range found {
		if !strings.Contains(texts.String(), text[1]) {
			t.Errorf("no string of the code has the text %q", text[1])
		}
	}
}
