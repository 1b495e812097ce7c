package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A reader searches the page for the text of an error, so each text in it is one that the code has.
func TestTroubleshooting_textsAreInTheCode(t *testing.T) {
	var code strings.Builder
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "../docs/troubleshooting.md")
	found := regexp.MustCompile("(?m)^(?:### |- )`([^`]+)`").FindAllStringSubmatch(page, -1)
	if len(found) < 20 {
		t.Fatalf("the page has %d texts", len(found))
	}
	for _, text := range found {
		if !strings.Contains(code.String(), text[1]) {
			t.Errorf("no code has the text %q", text[1])
		}
	}
}
