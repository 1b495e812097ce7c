package terminal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/terminal"
)

func TestIs_devNullIsNotATerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if terminal.Is(null) || terminal.Is(strings.NewReader("")) {
		t.Error("a terminal")
	}
}

func TestConfirm_takesYesAndNothingElse(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yess\n": false} {
		var out strings.Builder
		if got := terminal.Confirm(t.Context(), strings.NewReader(answer), &out, "Sure?"); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
}
