package spelling_test

import (
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{
		"usr": "user", "clent": "client", "Clietn": "client", "al": "all", "set": "", "userid": "", "": "",
		strings.Repeat("a", 65): "",
	} {
		if got := spelling.Nearest(word, []string{"client", "user", "all", "text"}); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
