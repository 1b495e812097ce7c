package terminal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/terminal"
)

func TestColorMode_choosesTheStyle(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	for _, tt := range []struct {
		mode, noColor string
		want          bool
	}{{"auto", "", false}, {"never", "", false}, {"always", "", true}, {"always", "1", true}} {
		t.Setenv("NO_COLOR", tt.noColor)
		var mode terminal.ColorMode
		if err := mode.Set(tt.mode); err != nil {
			t.Fatal(err)
		}
		if style := mode.StyleOf(&strings.Builder{}); style.Color != tt.want {
			t.Errorf("--color %s, NO_COLOR=%s: color %v, want %v", tt.mode, tt.noColor, style.Color, tt.want)
		}
	}
	var mode terminal.ColorMode
	if err := mode.Set("blue"); err == nil {
		t.Error("blue is a mode")
	}
}

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
