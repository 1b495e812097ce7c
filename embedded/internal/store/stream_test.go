package store

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStream_isASortedMap compares random changes with a map that is sorted for each look.
func TestStream_isASortedMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var got Stream
	want := map[StreamID][]string{}
	for i := range 20_000 {
		id := StreamID{MS: uint64(i / 3), Seq: uint64(i % 3)}
		if random.IntN(2) > 0 {
			want[id] = []string{"n", strconv.Itoa(i)}
			got.Add(id, want[id], 1+random.IntN(100))
		} else {
			id = StreamID{MS: uint64(random.IntN(1 + i/3)), Seq: uint64(random.IntN(3))}
			_, there := want[id]
			if got.Delete(id) != there {
				t.Fatalf("delete %s: want %v", id, there)
			}
			delete(want, id)
		}
		if i%500 != 0 {
			continue
		}
		if diff := cmp.Diff(want, maps.Collect(got.Ascend(StreamID{}))); diff != "" || got.Len() != len(want) {
			t.Fatalf("step %d, %d IDs (-want +got)\n%s", i, got.Len(), diff)
		}
		sorted := slices.SortedFunc(maps.Keys(want), StreamID.Compare)
		at, found := slices.BinarySearchFunc(sorted, id, StreamID.Compare)
		var up, down []StreamID
		for id := range got.Ascend(id) {
			up = append(up, id)
		}
		for id := range got.Descend(id) {
			down = append(down, id)
		}
		slices.Reverse(down)
		if diff := cmp.Diff(slices.Clone(sorted[at:]), up, cmpEmpty); diff != "" {
			t.Fatalf("up from %s (-want +got)\n%s", id, diff)
		}
		if found {
			at++
		}
		if diff := cmp.Diff(slices.Clone(sorted[:at]), down, cmpEmpty); diff != "" {
			t.Fatalf("down from %s (-want +got)\n%s", id, diff)
		}
	}
}

var cmpEmpty = cmp.Transformer("sorted", func(ids []StreamID) []StreamID { return append([]StreamID{}, ids...) })

func TestStream_usedFollowsTheEntries(t *testing.T) {
	var db DB
	e := db.Create("s", StreamKind)
	empty := db.Used()
	for i := range 250 {
		e.Stream.Add(StreamID{MS: uint64(i + 1)}, []string{"field", "value"}, 100)
	}
	db.Changed("s", e)
	if db.Used() < empty+250*10 {
		t.Errorf("%d bytes with 250 entries, %d without", db.Used(), empty)
	}
	if n := e.Stream.Trim(Trim{MaxLen: 120, Whole: true}); n != 100 {
		t.Errorf("a trim of whole chunks removed %d, want 100", n)
	}
	e.Stream.Delete(StreamID{MS: 200})
	if n := e.Stream.Trim(Trim{MaxLen: 0}); n != 149 {
		t.Errorf("the trim to nothing removed %d, want 149", n)
	}
	db.Changed("s", e)
	if db.Used() != empty {
		t.Errorf("%d bytes without entries, want %d as before", db.Used(), empty)
	}
}
