package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable prints rows under a head, in columns; nothing without a row.
func printTable(w io.Writer, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(strings.Join(head, "\t")))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}
