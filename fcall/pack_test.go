package fcall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

func limits(t testing.TB, names ...string) *fcall.Pack {
	t.Helper()
	p := fcall.NewPacker("PackLimit", "limit", 2)
	for i, name := range names {
		a := p.Row()
		a.Text("name", name, 1, 32)
		a.Int("limit", 10, 1, 1000)
		a.OptInt("burst", int64(i), 1, 1000)
		a.OptBool("shadow", false)
		p.Key("log", name)
		p.Key("seen", name)
	}
	pack, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

func TestPack_words(t *testing.T) {
	pack := limits(t, "minute", "per hour,;%\x00")
	if pack.Len() != 2 || pack.Keys() != 4 {
		t.Errorf("%d rows with %d keys, want 2 with 4", pack.Len(), pack.Keys())
	}
	const text = "minute,10;per%20hour%2c%3b%25%00,10,1;"
	if pack.String() != text {
		t.Errorf("got %s, want %s", pack, text)
	}
	folded := fcall.Tag("per hour,;%\x00")
	c, r := record(t, fcall.Options{Namespace: "ns"})
	for _, test := range []struct {
		name string
		of   []fcall.Subject
		want [2]string
	}{
		{"the call's subject", nil, [2]string{"u1", "u1"}},
		{"subjects of their own", []fcall.Subject{"203.0.113.7", "any one"}, [2]string{"203.0.113.7", fcall.Tag("any one")}},
		{"one subject of their own", []fcall.Subject{"x", "x"}, [2]string{"x", "x"}},
	} {
		a := c.Args(countFunction("look"), 5, 3)
		a.Key("bucket", "u1", "state")
		a.PackKeys("limits", pack, "u1", test.of)
		a.PackKeys("none", nil, "u1", nil)
		a.Pack("limits", pack, 1, 16)
		a.Pack("none", nil, 0, 16)
		if _, err := a.Call(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []any{
			"FCALL_RO", "fcalltest_v1_look", 5, "ns:{u1}:state",
			"ns:{" + test.want[0] + "}:log:minute", "ns:{" + test.want[0] + "}:seen:minute",
			"ns:{" + test.want[1] + "}:log:" + folded, "ns:{" + test.want[1] + "}:seen:" + folded, text, "",
		}
		if d := cmp.Diff(want[3:], r.words[3:]); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
	}
}

func TestPack_rejects(t *testing.T) {
	p := fcall.NewPacker("PackLimit", "limit", 2)
	for _, limit := range []int64{1, 0} {
		a := p.Row()
		a.Text("name", strings.Repeat("x", int(limit)), 1, 32)
		a.Int("limit", limit, 1, 1000)
	}
	if pack, err := p.Pack(); pack != nil || fmt.Sprint(err) != "PackLimit: limit.1.name must be text of 1 to 32 bytes, got 0 bytes; limit.1.limit must be a whole number from 1 to 1000, got 0" {
		t.Errorf("got %v, %v", pack, err)
	}
	c, r := record(t, fcall.Options{})
	pack := limits(t, "a", "b")
	for _, test := range []struct {
		name string
		of   []fcall.Subject
		most int64
		want string
	}{
		{"too many rows", nil, 1, "limits must have 0 to 1 rows, got 2"},
		{"a subject less", []fcall.Subject{"x"}, 2, "limits_of must have a subject for each of 2 rows, or none, got 1"},
		{"an empty subject", []fcall.Subject{"x", ""}, 2, "limits.1.of must not be empty"},
		{"two empty subjects", []fcall.Subject{"", ""}, 2, "limits.0.of must not be empty"},
	} {
		a := c.Args(countFunction("look"), 5, 1)
		a.Key("bucket", "u1", "state")
		a.PackKeys("limits", pack, "u1", test.of)
		a.Pack("limits", pack, 0, test.most)
		if _, err := a.Call(t.Context()); fmt.Sprint(err) != "fcalltest.look: "+test.want || r.words != nil {
			t.Errorf("%s: got %v, and %v was sent", test.name, err, r.words)
		}
	}
}

// A call does not encode its pack again: only the keys are built per call.
func TestPack_allocations(t *testing.T) {
	c, _ := record(t, fcall.Options{Namespace: "ns"})
	fn := countFunction("look")
	pack := limits(t, "minute", "hour")
	of := []fcall.Subject{"user42", "203.0.113.7"}
	without := testing.AllocsPerRun(100, func() { c.Args(fn, 4, 1) })
	with := testing.AllocsPerRun(100, func() {
		a := c.Args(fn, 4, 1)
		a.PackKeys("limits", pack, "user42", of)
		a.Pack("limits", pack, 1, 16)
	})
	if with-without != 8 {
		t.Errorf("a pack with 4 keys takes %v allocations, want 8: a text and its box each", with-without)
	}
}

func BenchmarkArgs_pack(b *testing.B) {
	c, _ := record(b, fcall.Options{Namespace: "ns"})
	fn := countFunction("look")
	pack := limits(b, "minute", "hour")
	of := []fcall.Subject{"user42", "203.0.113.7"}
	b.ReportAllocs()
	for b.Loop() {
		a := c.Args(fn, 4, 1)
		a.PackKeys("limits", pack, "user42", of)
		a.Pack("limits", pack, 1, 16)
	}
}

// Only scripts of functions with packs contain the decoder of packs, and only the lib files that a function reaches are in its script.
func TestScript_decodesOnlyWhereThereArePacks(t *testing.T) {
	for name, packed := range map[string]bool{"check": true, "gcra": false} {
		text := fcall.ScriptOf(&fcall.Function{Library: ratelimit.Library, Name: name, ServerName: "ratelimit_v1_" + name})
		for part, want := range map[string]bool{
			"local rlfunc_pack = (function()": packed, "local clock = (function()": true, "local window_log = (function()": packed,
		} {
			if got := strings.Contains(text, part); got != want {
				t.Errorf("%s: the script has %q: %v, want %v", name, part, got, want)
			}
		}
	}
}
