package embedded_test

import (
	"os"
	"strings"
	"testing"
)

// page_code_test.go holds the Go of docs/reference/embedded.md.
func TestPage_codeIsWhatRuns(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/embedded.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("page_code_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) != 3 {
		t.Errorf("%d blocks of Go, want 3", len(blocks))
	}
	for _, block := range blocks {
		if code, _, _ := strings.Cut(block, "```"); !strings.Contains(string(source), code) {
			t.Errorf("page_code_test.go has no\n%s", code)
		}
	}
}
