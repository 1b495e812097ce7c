package fcall_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func limits(of fcall.Subject, names ...string) fcall.Rows[string] {
	p := fcall.NewPacker(2)
	for i, name := range names {
		p.Row(of)
		p.Text(name)
		p.Int(10)
		p.OptInt(int64(i))
		p.OptBool(false)
		p.RowKey("log", name)
		p.RowKey("seen", name)
		of = ""
	}
	return fcall.Pack(names, p)
}

func TestRows_words(t *testing.T) {
	pack := limits("own", "minute", "per hour,;%\x00")
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
		{"the rows' own", nil, [2]string{"own", "u1"}},
		{"the call's subject", []fcall.Subject{}, [2]string{"u1", "u1"}},
		{"one of its own", []fcall.Subject{"", "x"}, [2]string{"u1", "x"}},
		{"fewer than rows", []fcall.Subject{"x"}, [2]string{"x", "u1"}},
		{"subjects of their own", []fcall.Subject{"203.0.113.7", "any one"}, [2]string{"203.0.113.7", fcall.Tag("any one")}},
		{"one subject of their own", []fcall.Subject{"x", "x"}, [2]string{"x", "x"}},
	} {
		rows := pack
		if test.of != nil {
			rows = pack.For(test.of...)
		}
		a := c.Args(countFunction("look"), 5, 3)
		a.Key("u1", "state")
		a.GroupKeys(rows.Group, "u1")
		a.GroupKeys(fcall.Group{}, "u1")
		a.Group(rows.Group)
		a.Group(fcall.Group{})
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

// A call does not encode its rows again: only the keys are built per call.
func TestRows_allocations(t *testing.T) {
	if onpath.Raced() {
		t.Skip("measured without the race detector only: it makes pools forget")
	}
	c, _ := record(t, fcall.Options{Namespace: "ns"})
	fn := countFunction("look")
	pack := limits("", "minute", "hour")
	of := []fcall.Subject{"user42", "203.0.113.7"}
	call := func(rows fcall.Rows[string]) float64 {
		return testing.AllocsPerRun(100, func() {
			a := c.Args(fn, 4, 1)
			a.GroupKeys(rows.Group, "user42")
			a.Group(rows.Group)
			_, _ = a.Call(t.Context())
		})
	}
	if took := call(pack.For(of...)) - call(fcall.Rows[string]{}); took != 5 {
		t.Errorf("a pack with 4 keys takes %v allocations, want 5: one text, and a box for each key", took)
	}
}
