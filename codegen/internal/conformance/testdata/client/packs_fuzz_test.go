package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
)

// FuzzPacks holds that what the Go client packs comes out of the decoder as it went in, and that any other text is refused as RLARG or
// read as rows that the Go client packs too.
func FuzzPacks(f *testing.F) {
	f.Add(goodRow, "minute", "note", int64(1000), int64(1), int64(0), true)
	f.Add("a,sum,1000,,0,1,0,%00%ff,1,open;b,last,1,0,,,1,;", "%", ",;\x00\xff", int64(86_400_000_000), int64(-1), int64(1), false)
	f.Add("a,sum,01,,,,1,;", "\n", strings.Repeat("\x80", 64), int64(1), int64(9), int64(1<<53), true)
	f.Add(";;;;", "~", "", int64(1), int64(10), int64(-1), true)
	server := embedded.New(embedded.Options{})
	f.Cleanup(func() { server.Close() })
	rdb := server.Client()
	f.Cleanup(func() { rdb.Close() })
	if err := rdb.FunctionLoad(f.Context(), everything.Library.Code).Err(); err != nil {
		f.Fatal(err)
	}
	c, err := everything.New(rdb, fcall.Options{Namespace: "ns"})
	if err != nil {
		f.Fatal(err)
	}
	pairs, err := everything.PackPacksPairsOf(everything.PacksPairsOf{Left: "x", Right: 1})
	if err != nil {
		f.Fatal(err)
	}
	// answer is what a pack of the Go client gives.
	answer := func(t *testing.T, rows ...everything.Item) ([]everything.ItemResult, bool) {
		pack, err := everything.PackItem(rows...)
		if err != nil {
			return nil, false
		}
		result, err := c.Packs(t.Context(), everything.PacksParams{Subject: "u", Items: pack, PairsOf: pairs})
		if err != nil {
			t.Fatalf("%+v: %v", rows, err)
		}
		return result.Items, true
	}
	f.Fuzz(func(t *testing.T, text, name, note string, window, cost, budget int64, on bool) {
		row := everything.Item{Name: name, Kind: "sum", Window: time.Duration(window) * time.Microsecond, Note: note, On: on, Shadow: !on}
		want := everything.ItemResult{Name: name, Kind: "sum", Window: row.Window, Note: note, On: on, Shadow: !on, Cost: 1, Mode: "closed"}
		if cost >= 0 {
			row.Cost, want.Cost = new(cost), cost
		}
		if budget >= 0 && budget < 1<<40 {
			row.Budget = new(fcall.Micros(budget))
			want.Window += time.Duration(budget) * time.Microsecond
		}
		if got, ok := answer(t, row); ok {
			want.State, want.Seen = got[0].State, got[0].Seen
			if d := cmp.Diff([]everything.ItemResult{want}, got); d != "" {
				t.Errorf("%+v (-want +got):\n%s", row, d)
			}
		}

		var reply any
		for rows := range 5 {
			var err error
			if reply, err = callPacks(t, rdb, text, rows).Result(); err == nil {
				break
			}
			if !strings.HasPrefix(err.Error(), "RLARG items") && !strings.HasPrefix(err.Error(), "RLARG packs must be called with") || strings.ContainsAny(err.Error(), "\r\n\x00") {
				t.Fatalf("%q: got %q", text, err)
			}
		}
		if reply == nil {
			return
		}
		var again []everything.Item
		for _, row := range readPacks(t, reply).Items {
			again = append(again, everything.Item{
				Name: row.Name, Kind: row.Kind, Window: row.Window, Cost: new(row.Cost), Since: row.Since, On: row.On, Note: row.Note, Shadow: row.Shadow,
				Mode: row.Mode,
			})
		}
		got, ok := answer(t, again...)
		if !ok {
			return // the window holds the budget, and is too long with it
		}
		for i, row := range got {
			if d := cmp.Diff(again[i], everything.Item{
				Name: row.Name, Kind: row.Kind, Window: row.Window, Cost: new(row.Cost), Since: row.Since, On: row.On, Note: row.Note, Shadow: row.Shadow, Mode: row.Mode,
			}, utc); d != "" {
				t.Errorf("%q was read as rows that come back as others (-want +got):\n%s", text, d)
			}
		}
	})
}
