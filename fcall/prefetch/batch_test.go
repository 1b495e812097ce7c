package prefetch

import (
	"testing"
	"time"
)

func TestClose_reportsUnusedOnce(t *testing.T) {
	b := newBatch(grant{Taken: 10}.OfBucket(time.Millisecond, time.Second), 10, 0, 0, time.Second)
	for range 3 {
		if !b.Take() {
			t.Fatal("no token")
		}
	}
	if !b.Put() {
		t.Fatal("not put back")
	}
	for _, want := range [][2]int64{{2, 8}, {2, 0}, {2, 0}} {
		if used, unused := b.Close(); used != want[0] || unused != want[1] {
			t.Errorf("%d used, %d unused, want %v", used, unused, want)
		}
	}
	if b.Take() || b.Put() || b.Left() != 0 {
		t.Error("a closed batch has tokens")
	}
}

func TestNext_followsDemand(t *testing.T) {
	d := demand{Most: 100, For: time.Second}
	bucket := newBatch(grant{Taken: 50}.OfBucket(time.Millisecond, time.Second), 50, 0, 0, time.Second)
	for _, c := range []struct {
		used, waiting int64
		after         time.Duration
		want          int64
	}{
		{0, 0, time.Second, 1},
		{10, 0, 500 * time.Millisecond, 8}, // in two fifths of a second
		{10, 30, 500 * time.Millisecond, 31},
		{50, 0, 100 * time.Millisecond, 100},
		{2, 0, time.Millisecond, 8}, // at most four times as many
		{1, 0, time.Minute, 1},
	} {
		if n := d.Next(bucket, c.used, c.waiting, d.last+c.after); n != c.want {
			t.Errorf("%+v: %d", c, n)
		}
	}
	// Four fifths of a window are used: a process leaves most of the rest to others.
	if n := d.Next(newBatch(grant{Taken: 50, Remaining: 20, Reset: time.Minute}.OfWindow(), 50, 0, 0, time.Second), 50, 0, d.last+time.Millisecond); n != 5 {
		t.Errorf("near the end of a window: %d", n)
	}
	// Half a second is left of a window.
	w := newBatch(grant{Taken: 50, Remaining: 1000, Reset: 501 * time.Millisecond}.OfWindow(), 50, d.last, d.last, time.Second)
	if n := d.Next(w, 10, 0, d.last+250*time.Millisecond); n != 10 {
		t.Errorf("at the end of a window: %d", n)
	}
}

// Requests do not wait for tokens that the limit did not have.
func TestNew_refusesAfterTheLastToken(t *testing.T) {
	const at = time.Second
	for _, c := range []struct {
		name  string
		grant grant
		until time.Duration
	}{
		{"a bucket with less than asked", grant{Taken: 3}.OfBucket(time.Millisecond, time.Second), at + time.Millisecond},
		{"a window with less than asked", grant{Taken: 3, Reset: 20 * time.Millisecond}.OfWindow(), at + 20*time.Millisecond},
		{"a window that ends later than a batch", grant{Taken: 3, Reset: time.Hour}.OfWindow(), at + time.Second},
		{"all", grant{Taken: 10}.OfBucket(time.Millisecond, time.Second), at},
		{"none", grant{Retry: 5 * time.Millisecond}.OfBucket(time.Millisecond, time.Second), at + 5*time.Millisecond},
	} {
		if b := newBatch(c.grant, 10, 0, at, time.Second); b.Refuses != c.until {
			t.Errorf("%s: until %v, want %v", c.name, b.Refuses, c.until)
		}
	}
}
