package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarshal_everyObjectHasAFormat(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{map[string]any{"a": "<b>"}, "{\n  \"format\": 1,\n  \"a\": \"<b>\"\n}\n"},
		{map[string]any{}, "{\n  \"format\": 1\n}\n"},
		{map[string]any{"format": 3}, "{\n  \"format\": 3\n}\n"},
		{map[string]any{"format": "text"}, "{\n  \"format\": \"text\"\n}\n"},
	} {
		got, err := marshalJSON(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.value, diff)
		}
	}
}

func TestTable_colorsDoNotMoveColumns(t *testing.T) {
	rows := [][]string{{"one:1", "load", ""}, {"three:3", "same", "why"}}
	var plain, painted strings.Builder
	must(t, printTable(&plain, []string{"node", "action", ""}, rows, nil))
	must(t, printTable(&painted, []string{"node", "action", ""}, rows, func(_ int, cell string) string { return "<" + cell + ">" }))
	want := "NODE     ACTION\none:1    load\nthree:3  same    why\n"
	if diff := cmp.Diff(want, plain.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := strings.NewReplacer("<", "", ">", "").Replace(painted.String()); got != want {
		t.Errorf("painted:\n%s", got)
	}
}
