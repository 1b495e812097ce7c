package examples

import (
	"strings"
	"testing"
)

// The Go of docs/protect-a-service.md#over-rueidis-or-valkey-go is code of the adapter's example, which its module compiles.
func TestAdapters_pageMatchesExample(t *testing.T) {
	text := read(t, "../adapters/rueidis/example_test.go")
	for _, block := range blocks(t, "../docs/protect-a-service.md#over-rueidis-or-valkey-go", "go") {
		if !strings.Contains(text, "\n"+block) {
			t.Errorf("adapters/rueidis/example_test.go lacks this Go of docs/protect-a-service.md#over-rueidis-or-valkey-go:\n%s", block)
		}
	}
}
