package main

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/scaling.svg")

// The table and the picture of docs/performance.md are those of a run. No run admits more than the stated bound.
func TestTable_isThatOfTheDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("THE TABLE OF docs/performance.md IS NOT CHECKED with -short: it takes 5 s of CPU")
	}
	got, err := tableOf(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.cluster {
		if o := &got.cluster[i]; o.over > 1.0001 {
			t.Errorf("%d processes, prefetch %s: %.4f of the bound", o.processes, o.prefetch(), o.over)
		}
	}
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(got.text()) {
		if !bytes.Contains(page, []byte(line)) {
			t.Errorf("docs/performance.md lacks %s", line)
		}
	}
	const chart = "../../docs/scaling.svg"
	if *update {
		if err := os.WriteFile(chart, got.picture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if drawn, err := os.ReadFile(chart); err != nil || !bytes.Equal(drawn, got.picture()) {
		t.Errorf("docs/scaling.svg is not the picture of a run: go -C bench test ./scale -update (%v)", err)
	}
}

func TestSimulate_oneSeedGivesOneResult(t *testing.T) {
	s, err := base(10, 3, 7)
	if err != nil {
		t.Fatal(err)
	}
	s = prefetched(s, 100, 100*time.Millisecond)
	if a, b := simulate(s), simulate(s); !reflect.DeepEqual(a, b) {
		t.Error("two runs differ")
	}
}

// With one process and time to spare, each kind admits what it allows, and no more.
func TestSimulate_admitsTheLimit(t *testing.T) {
	for _, gcra := range []bool{false, true} {
		s, err := base(1, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.gcra, s.rate, s.limit, s.lasts = gcra, 2000, 1000, 5*time.Second
		for _, s := range []scene{s, prefetched(s, 100, 100*time.Millisecond)} {
			if o := (outcome{s, simulate(s)}); o.share() < 0.99 || o.over > 1.0001 {
				t.Errorf("gcra %v, prefetch %s: %.4f admitted, %.4f of the bound", gcra, o.prefetch(), o.share(), o.over)
			}
		}
	}
}
