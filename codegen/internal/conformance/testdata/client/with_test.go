package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

func TestSometimes_keysGoWithTheirArguments(t *testing.T) {
	pairs := everything.MustPackSometimesPairsOf(everything.SometimesPairsOf{Left: "x"})
	items := everything.MustPackItem(everything.Item{Name: "a", Kind: everything.ItemKindLast, Window: 1000})
	const own, noted, counted = "ns:{u}:state", "ns:{u}:noted", "ns:{u}:counted"
	tests := []struct {
		params everything.SometimesParams
		want   []string
	}{
		{everything.SometimesParams{}, []string{own}},
		{everything.SometimesParams{Note: "n"}, []string{own, noted}},
		{everything.SometimesParams{Items: items}, []string{own, counted, "ns:{u}:last:a", "ns:{u}:seen:a"}},
		{everything.SometimesParams{Others: []fcall.Subject{"v", "w"}}, []string{own, "ns:{v}:state", "ns:{w}:state"}},
		{everything.SometimesParams{Note: "n", NoteOf: "v"}, []string{own, "ns:{v}:noted"}},
		{everything.SometimesParams{Items: items, Note: "n", NoteOf: "v", Others: []fcall.Subject{"a", "b", "c", "d"}}, []string{
			own, "ns:{v}:noted", counted, "ns:{u}:last:a", "ns:{u}:seen:a", "ns:{a}:state", "ns:{b}:state", "ns:{c}:state", "ns:{d}:state",
		}},
		{everything.SometimesParams{Note: "n", Items: items}, []string{own, noted, counted, "ns:{u}:last:a", "ns:{u}:seen:a"}},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for name, client := range modes(t, rdb, c) {
			for _, test := range tests {
				p := test.params
				p.Subject, p.Number, p.PairsOf = "u", 3, pairs
				got, err := client.Sometimes(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				want := everything.SometimesResult{Number: 4}
				for _, key := range test.want {
					want.Keys = append(want.Keys, everything.SometimesKeysResult{Name: key})
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v, %s (-want +got):\n%s", test.want, name, diff)
				}
			}
		}
		// A key of another type is named, whatever other keys the call has.
		for _, key := range []string{noted, counted} {
			if err := rdb.Set(t.Context(), key, "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			for _, p := range []everything.SometimesParams{{Note: "n"}, {Items: items}, {Note: "n", Items: items}} {
				if (key == noted) != (p.Note != "") && (key == noted || p.Items.Len() == 0) {
					continue
				}
				p.Subject, p.Number, p.PairsOf = "u", 3, pairs
				_, err := c.Sometimes(t.Context(), p)
				var state *fcall.StateError
				if !errors.As(err, &state) || state.Key != key {
					t.Errorf("a string in %s: got %v", key, err)
				}
			}
			rdb.Del(t.Context(), key)
		}
		// One of several keys of another type is named, too.
		if err := rdb.LPush(t.Context(), "ns:{w}:state", "x").Err(); err != nil {
			t.Fatal(err)
		}
		var state *fcall.StateError
		_, err := c.Sometimes(t.Context(), everything.SometimesParams{Subject: "u", Number: 3, PairsOf: pairs, Others: []fcall.Subject{"v", "w"}})
		if !errors.As(err, &state) || state.Key != "ns:{w}:state" {
			t.Errorf("a list where a string should be: got %v", err)
		}
		if _, err := c.Sometimes(t.Context(), everything.SometimesParams{Subject: "u", Number: 3, PairsOf: pairs, Others: make([]fcall.Subject, 5)}); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("five keys where four may be: %v", err)
		}
		// A hand-made call with a key too many or too few.
		for _, words := range [][]any{
			{1, own, "3", "n", "x;"},
			{6, own, noted, noted, noted, noted, noted, "3", "", "x;"},
			{2, own, noted, "3", "n", "x;", "a,last,1,1,,,1,;"},
			{0, "3", "n", "x;"},
		} {
			err := rdb.Do(t.Context(), append([]any{"FCALL_RO", "everything_v2_sometimes"}, words...)...).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "RLARG sometimes must be called with") && !strings.HasPrefix(err.Error(), "RLARG others must be") {
				t.Errorf("%v: %v", words, err)
			}
		}
	})
}
