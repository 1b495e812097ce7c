package store

import (
	"fmt"
	"strings"
	"testing"
)

func TestGet_keyLivesThroughItsLastMillisecond(t *testing.T) {
	var d DB
	d.SetString("k", "v", 1000)
	if d.Get("k", 1000) == nil {
		t.Error("gone at its expiry: Redis keeps a key until now is later")
	}
	if d.Get("k", 1001) != nil {
		t.Error("still there after its expiry")
	}
	if d.Len() != 0 || d.Used() != 0 || d.Volatile() != 0 {
		t.Errorf("after expiry: %d keys, %d bytes, %d volatile, want none", d.Len(), d.Used(), d.Volatile())
	}
}

func TestSweep_reclaimsUnreadKeys(t *testing.T) {
	var d DB
	for i := range 10_000 {
		d.SetString(fmt.Sprint(i), "v", 1000)
	}
	d.SetString("stays", "v", Never)
	for range 10_001 / 32 {
		d.Sweep(32, 2000)
	}
	d.Sweep(32, 2000)
	if d.Len() != 1 || d.Expired() != 10_000 {
		t.Errorf("%d keys left, %d expired, want 1 and 10000", d.Len(), d.Expired())
	}
}

func TestSweep_livingKeysStay(t *testing.T) {
	var d DB
	for i := range 1000 {
		d.SetString(fmt.Sprint(i), "v", int64(1000+1000*(i%2)))
	}
	for range 1000 {
		d.Sweep(8, 1500)
	}
	if d.Len() != 500 {
		t.Errorf("%d keys left, want the 500 that live", d.Len())
	}
}

func TestUsed_returnsToZero(t *testing.T) {
	var d DB
	d.SetString("s", strings.Repeat("x", 1000), Never)
	d.SetString("s", "short", 5000)
	l := d.Create("l", List)
	for range 100 {
		l.List.PushBack("element")
	}
	d.Changed("l", l)
	z := d.Create("z", ZSet)
	z.ZSet.Set("m", 1)
	z.ZSet.Set("m", 2)
	d.Changed("z", z)
	h := d.Create("h", Hash)
	h.Hash.Set("f", "v")
	h.Hash.Set("f", "longer")
	d.Changed("h", h)
	d.SetString("h", "now a string", Never)
	moved := *d.Get("l", 0)
	d.Delete("l")
	d.Put("l2", moved)
	if d.Used() < 700 {
		t.Errorf("Used() = %d with 100 elements of 7 bytes", d.Used())
	}
	for _, key := range []string{"s", "l2", "z", "h"} {
		d.Delete(key)
	}
	if d.Used() != 0 || d.Volatile() != 0 {
		t.Errorf("Used() = %d, Volatile() = %d without keys, want 0", d.Used(), d.Volatile())
	}
}

func TestScan_seesEveryKeyThatStays(t *testing.T) {
	var d DB
	for i := range 2000 {
		d.SetString(fmt.Sprint(i), "v", Never)
	}
	seen := map[string]bool{}
	cursor, page := uint64(0), 0
	for {
		cursor = d.Scan(cursor, 10, 0, func(key string, _ *Entry) { seen[key] = true })
		if cursor == 0 {
			break
		}
		// Keys come and go while the scan is under way; those with an even number stay.
		d.Delete(fmt.Sprint(2*page + 1))
		d.SetString(fmt.Sprint("new", page), "v", Never)
		page++
	}
	for i := 0; i < 2000; i += 2 {
		if !seen[fmt.Sprint(i)] {
			t.Errorf("key %d was never seen", i)
		}
	}
}

func TestTable_shrinksAfterAFlood(t *testing.T) {
	var d DB
	for i := range 100_000 {
		d.SetString(fmt.Sprint(i), "v", Never)
	}
	for i := range 99_990 {
		d.Delete(fmt.Sprint(i))
	}
	if d.keys.peak > smallTable*16 {
		t.Errorf("the index still has room for %d keys, with 10 left", d.keys.peak)
	}
	for i := 99_990; i < 100_000; i++ {
		if d.Get(fmt.Sprint(i), 0) == nil {
			t.Errorf("key %d is lost", i)
		}
	}
}

func TestWatch_learnsOfChanges(t *testing.T) {
	tests := []struct {
		name   string
		change func(d *DB)
		want   bool
	}{
		{"set", func(d *DB) { d.SetString("k", "2", Never) }, true},
		{"deleted", func(d *DB) { d.Delete("k") }, true},
		{"flushed", func(d *DB) { d.Flush() }, true},
		{"expired", func(d *DB) { d.Get("k", 1001) }, true},
		{"read", func(d *DB) { d.Get("k", 0) }, false},
		{"another set", func(d *DB) { d.SetString("other", "2", Never) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d DB
			d.SetString("k", "1", 1000)
			w := &Watch{}
			d.Watch("k", w)
			test.change(&d)
			if w.Touched != test.want {
				t.Errorf("Touched = %v, want %v", w.Touched, test.want)
			}
			d.Unwatch("k", w)
			if d.watchers != nil {
				t.Error("the watch is still there after Unwatch")
			}
		})
	}
}

func TestEvict_removesTheKeyThatWasUsedLeastRecently(t *testing.T) {
	var d DB
	for i := range 5 {
		d.SetString(fmt.Sprint(i), "v", Never)
	}
	d.Get("0", 0)                    // read
	d.SetString("1", "w", Never)     // written
	d.Put("2", *d.Create("l", List)) // replaced, by one that is in the order itself
	d.Delete("3")
	want := []string{"4", "0", "1", "l", "2"}
	for _, key := range want {
		if d.oldest == nil || d.oldest.key != key {
			t.Fatalf("the least recently used key is %v, want %s of %v", d.oldest, key, want)
		}
		if !d.Evict() {
			t.Fatal("nothing is evicted")
		}
	}
	if d.Evict() || d.Len() != 0 || d.Used() != 0 || d.Evicted() != 5 || d.newest != nil {
		t.Errorf("%d keys of %d bytes left, %d evicted", d.Len(), d.Used(), d.Evicted())
	}
}
