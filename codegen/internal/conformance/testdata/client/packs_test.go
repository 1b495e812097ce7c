package conformance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

func packItem(t *testing.T, rows ...everything.Item) everything.ItemPack {
	t.Helper()
	pack, err := everything.PackItem(rows...)
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

func packPairs(t *testing.T, rows ...everything.PacksPairsOf) everything.PacksPairsOfPack {
	t.Helper()
	pack, err := everything.PackPacksPairsOf(rows...)
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

// modes are clients that call functions and that run scripts, of which the embedded engine has none.
func modes(t *testing.T, rdb *redis.Client, c *everything.Client) map[string]*everything.Client {
	all := map[string]*everything.Client{"functions": c}
	if strings.HasSuffix(t.Name(), "/embedded") {
		return all
	}
	scripts, err := everything.New(rdb, fcall.Options{Namespace: "ns", Mode: fcall.ModeScripts})
	if err != nil {
		t.Fatal(err)
	}
	all["scripts"] = scripts
	return all
}

func TestPacks_rowsComeBackAsSent(t *testing.T) {
	var every strings.Builder
	for b := range 64 {
		every.WriteByte(byte(b * 4))
	}
	odd := "odd name: {x},;%"
	since := time.UnixMicro(1_763_706_467_123_584).UTC()
	params := everything.PacksParams{
		Subject: "user42", Before: 5,
		Items: packItem(
			t,
			everything.Item{Name: "minute", Kind: everything.ItemKindSum, Window: 1001 * time.Nanosecond, On: true},
			everything.Item{
				Name: odd, Kind: everything.ItemKindLast, Window: time.Hour, Cost: new(int64(0)), Budget: new(fcall.Micros(7)), Since: since,
				Note: every.String(), Shadow: true, Mode: everything.ItemModeOpen,
			},
			everything.Item{Name: "minute", Kind: everything.ItemKindLast, Window: time.Second, Note: "%41"},
		),
		PairsOf: packPairs(t, everything.PacksPairsOf{Left: "\x00,;%", Right: 1 << 53, Third: 9}, everything.PacksPairsOf{Left: "x"}),
		After:   9,
	}
	folded := fcall.KeyOf("ns", "user42", "last", odd)
	want := everything.PacksResult{
		Total: 5 + 3 + 2 + 9,
		Items: []everything.ItemResult{
			{Name: "minute", Kind: "sum", State: "ns:{user42}:sum:minute", Seen: "ns:{user42}:seen:minute", Window: 2 * time.Microsecond, Cost: 1, On: true, Mode: "closed"},
			{
				Name: odd, Kind: "last", State: folded, Seen: strings.Replace(folded, ":last:", ":seen:", 1), Window: time.Hour + 7*time.Microsecond,
				Since: since, Note: every.String(), Shadow: true, Mode: "open",
			},
			{Name: "minute", Kind: "last", State: "ns:{user42}:last:minute", Seen: "ns:{user42}:seen:minute", Window: time.Second, Cost: 1, Note: "%41", Mode: "closed"},
		},
		Whole:   1 + 3_600_000 + 1000,
		PairsOf: []everything.PacksPairsOfResult{{Left: "\x00,;%", Right: 1 << 53, Third: 9}, {Left: "x"}},
		Between: "ns:{user42}:state",
	}
	none := everything.PacksParams{Subject: "u", PairsOf: packPairs(t, everything.PacksPairsOf{Left: "x"}), Between: "b"}
	noneWant := everything.PacksResult{
		Total: 1 + 3, Items: []everything.ItemResult{}, PairsOf: []everything.PacksPairsOfResult{{Left: "x"}}, Between: "b",
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for name, client := range modes(t, rdb, c) {
			for range 2 { // decoded, and kept
				got, err := client.Packs(t.Context(), params)
				if err != nil {
					t.Fatal(name, err)
				}
				if diff := cmp.Diff(want, got, utc); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				got, err = client.Packs(t.Context(), none)
				if err != nil {
					t.Fatal(name, err)
				}
				if diff := cmp.Diff(noneWant, got); diff != "" {
					t.Errorf("%s, without items (-want +got):\n%s", name, diff)
				}
			}
		}
	})
}

// The keys of a row are those of its own subject where the call gives one.
func TestPacks_rowsOfSeveralSubjects(t *testing.T) {
	items := packItem(
		t,
		everything.Item{Name: "a", Kind: everything.ItemKindSum, Window: time.Second},
		everything.Item{Name: "b", Kind: everything.ItemKindSum, Window: time.Second},
		everything.Item{Name: "c", Kind: everything.ItemKindLast, Window: time.Second},
	)
	params := everything.PacksParams{
		Subject: "user42", Items: items, ItemsOf: []fcall.Subject{"203.0.113.7", "203.0.113.7", "any one"},
		PairsOf: packPairs(t, everything.PacksPairsOf{Left: "x"}),
	}
	tag := fcall.Tag("any one")
	want := []string{
		"ns:{203.0.113.7}:sum:a", "ns:{203.0.113.7}:seen:a", "ns:{203.0.113.7}:sum:b", "ns:{203.0.113.7}:seen:b",
		"ns:{" + tag + "}:last:c", "ns:{" + tag + "}:seen:c",
	}
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		result, err := c.Packs(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range result.Items {
			got = append(got, row.State, row.Seen)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Packed groups and groups that are not packed stand in one call, and a key of the wrong type is named as itself.
func TestMixed_keysAreThoseOfTheirRows(t *testing.T) {
	item := func(names ...string) everything.ItemPack {
		var rows []everything.Item
		for _, name := range names {
			rows = append(rows, everything.Item{Name: name, Kind: "last", Window: 1000})
		}
		return packItem(t, rows...)
	}
	last, err := everything.PackMixedLast(everything.MixedLast{N: new(int64(0))}, everything.MixedLast{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		params everything.MixedParams
		want   everything.MixedResult
	}{
		{
			"all",
			everything.MixedParams{
				Subject: "u", First: item("a", "b"), FirstOf: []fcall.Subject{"x", "y"}, Plain: []everything.MixedPlain{{Name: "p"}, {Name: "q"}},
				Second: item("a", "c"), Last: last, After: 1000,
			},
			everything.MixedResult{Keys: []everything.MixedKeysResult{
				{Name: "ns:{u}:state"},
				{Name: "ns:{x}:last:a"},
				{Name: "ns:{x}:seen:a"},
				{Name: "ns:{y}:last:b"},
				{Name: "ns:{y}:seen:b"},
				{Name: "ns:{u}:list:p"},
				{Name: "ns:{u}:list:q"},
				{Name: "ns:{u}:last:a"},
				{Name: "ns:{u}:seen:a"},
				{Name: "ns:{u}:last:c"},
				{Name: "ns:{u}:seen:c"},
			}, Sum: 1010},
		},
		{
			"least",
			everything.MixedParams{Subject: "u", Second: item("a"), SecondOf: []fcall.Subject{"x"}},
			everything.MixedResult{Keys: []everything.MixedKeysResult{{Name: "ns:{u}:state"}, {Name: "ns:{x}:last:a"}, {Name: "ns:{x}:seen:a"}}},
		},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for name, client := range modes(t, rdb, c) {
			for _, test := range tests {
				got, err := client.Mixed(t.Context(), test.params)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", test.name, name, diff)
				}
			}
		}
		// The keys of b are those of its own subject.
		if err := rdb.RPush(t.Context(), "ns:{y}:seen:b", "x").Err(); err != nil {
			t.Fatal(err)
		}
		_, err := c.Mixed(t.Context(), everything.MixedParams{Subject: "u", First: item("b"), Second: item("a", "b"), SecondOf: []fcall.Subject{"x", "y"}})
		var state *fcall.StateError
		if !errors.As(err, &state) || state.Key != "ns:{y}:seen:b" || state.Problem != "holds a list, not a zset" {
			t.Errorf("a list in place of a zset: got %v (%+v)", err, state)
		}
	})
}
