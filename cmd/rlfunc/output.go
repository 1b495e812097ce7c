package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// printTable prints rows under a head, in columns. Without rows it prints nothing. Paint, if not nil, colors the text of a cell.
func printTable(w io.Writer, head []string, rows [][]string, paint func(column int, cell string) string) error {
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(row []string, paint func(int, string) string) {
		last := len(row) - 1
		for last > 0 && row[last] == "" {
			last--
		}
		for i, cell := range row[:last+1] {
			text := cell
			if paint != nil {
				text = paint(i, cell)
			}
			b.WriteString(text)
			if i < last {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	upper := make([]string, len(head))
	for i, name := range head {
		upper[i] = strings.ToUpper(name)
	}
	line(upper, nil)
	for _, row := range rows {
		line(row, paint)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// timeText returns a time in UTC as tables show it, and "" for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// marshalJSON returns an object as indented JSON with a final newline. An object without a top-level format gets "format": 1 as its first field:
// the version, which goes up when a field changes its meaning.
func marshalJSON(v any) ([]byte, error) {
	var encoded, b bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	text := encoded.Bytes()
	var own struct{ Format *int }
	if rest, isObject := bytes.CutPrefix(text, []byte("{")); isObject && json.Unmarshal(text, &own) == nil && own.Format == nil {
		separator := ","
		if bytes.HasPrefix(rest, []byte("}")) {
			separator = ""
		}
		text = append([]byte(`{"format":1`+separator), rest...)
	}
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// orEmpty returns list, or an empty list where it is nil: JSON shows null for a nil list.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
