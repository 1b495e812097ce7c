package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// Another client's FUNCTION FLUSH deletes the libraries and keeps the keys: callers load the libraries again, and no call fails.
func TestFunctionFlush_failsNoCall(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	tr := begin(t, to(t, m))
	if err := m.Client(t).FunctionFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	tr.awaitAnswers(t, 1000)
	r := tr.end(t)
	r.none(t)
	r.nothingDestroyed(t)
	holds(t, m, len(libraries))
}

// A client loads a library on one server once a second at most: what takes it away more often fails calls for the rest of that second.
func TestFunctionFlush_twiceInASecondFailsCallsForTheRestOfIt(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	admin := m.Client(t)
	tr := begin(t, to(t, m))
	for range 2 {
		if err := admin.FunctionFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		tr.awaitAnswers(t, 200)
	}
	tr.awaitCalm(t, 500)
	r := tr.end(t)
	r.only(t, "not loaded")
	r.nothingDestroyed(t)
	if r.Silence > 2500*time.Millisecond {
		t.Errorf("no library for %v", r.Silence)
	}
}

// Over maxmemory a server takes no library: calls fail, and say why, until it has memory again.
func TestOOM_aLibraryThatIsGoneStaysAway(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	tr := begin(t, to(t, m))
	do(t, m, "CONFIG", "SET", "maxmemory", 1)
	do(t, m, "FUNCTION", "FLUSH")
	tr.awaitFailed(t, "not loaded", 100)
	do(t, m, "CONFIG", "SET", "maxmemory", 0)
	tr.awaitCalm(t, 500)
	r := tr.end(t)
	r.only(t, "nothing ran: OOM", "not loaded", inScript)
	r.nothingDestroyed(t)
	if !slices.ContainsFunc(r.Errors, func(err error) bool {
		return strings.Contains(err.Error(), "OOM") && errors.Is(err, fcall.ErrNotLoaded)
	}) {
		t.Errorf("no caller's error says why the library is not loaded: %v", r.Errors)
	}
}
