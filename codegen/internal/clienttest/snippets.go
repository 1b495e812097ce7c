package clienttest

import (
	"os"
	"regexp"
	"testing"
)

// Snippets returns a page's blocks of code in a language. There is at least one.
func Snippets(t testing.TB, page, language string) (code []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```").FindAllStringSubmatch(string(text), -1) {
		code = append(code, m[1]+"\n")
	}
	if len(code) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return code
}
