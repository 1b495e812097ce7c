package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// Over maxmemory with noeviction every call that writes is refused before it runs, and those that only look answer.
func TestOOM_nothingIsHalfWritten(t *testing.T) {
	onEach(t, func(t *testing.T, m *engines.Member) {
		tr := begin(t, to(t, m))
		do(t, m, "CONFIG", "SET", "maxmemory", 1)
		before := digest(t, m)
		tr.awaitFailed(t, "nothing ran: OOM", 100)
		tr.looks(t)
		unwritten(t, m, before)
		do(t, m, "CONFIG", "SET", "maxmemory", 0)
		tr.awaitAnswers(t, 500)
		r := tr.end(t)
		r.only(t, "nothing ran: OOM")
		r.nothingDestroyed(t)
	})
}

// While a script runs past the threshold the server answers BUSY, within the deadline, and runs nothing.
func TestBusy_isReportedWithinTheDeadline(t *testing.T) {
	onEach(t, func(t *testing.T, m *engines.Member) {
		do(t, m, "CONFIG", "SET", "busy-reply-threshold", 20)
		do(t, m, "FUNCTION", "LOAD", "#!lua name=slow\nredis.register_function('slow', function() while true do end end)\n")
		l := to(t, m)
		l.deadline = 500 * time.Millisecond
		tr := begin(t, l)
		slow := m.Client(t)
		ended := make(chan error)
		go func() { ended <- slow.WithTimeout(patience).FCall(t.Context(), "slow", nil).Err() }()
		tr.awaitFailed(t, "nothing ran: BUSY", 100)
		do(t, m, "FUNCTION", "KILL")
		<-ended
		tr.awaitAnswers(t, 500)
		r := tr.end(t)
		// Late: on a busy machine, before the threshold. Not begun: the server answers BUSY to a new connection's HELLO, too.
		r.only(t, "nothing ran: BUSY", tooLate, noTime, notBegun)
		r.within(t, tr.deadline)
		r.nothingDestroyed(t)
	})
}

// A primary that is made a replica under its callers refuses what writes, and answers what only looks.
func TestReadonly_aDemotedPrimaryCountsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, m *engines.Member) {
		tr := begin(t, to(t, m))
		do(t, m, "REPLICAOF", "127.0.0.1", "1") // no server is there: it keeps its data
		before := digest(t, m)
		tr.awaitFailed(t, "nothing ran: READONLY", 100)
		tr.looks(t)
		unwritten(t, m, before)
		do(t, m, "REPLICAOF", "NO", "ONE")
		tr.awaitAnswers(t, 500)
		r := tr.end(t)
		r.only(t, "nothing ran: READONLY")
		r.nothingDestroyed(t)
	})
}

// A user that may call a function but not every command in it gets an error that names the missing permission, which Redis 7.0 leaves out.
// A call ends at the command, and its earlier writes stay.
func TestACL_aCommandInsideIsForbidden(t *testing.T) {
	onEach(t, func(t *testing.T, m *engines.Member) {
		for _, command := range []string{"rpush", "pexpire"} { // the first that it writes with, and one after that
			t.Run(command, func(t *testing.T) {
				do(t, m, "FLUSHALL")
				do(t, m, "ACL", "SETUSER", "service", "reset", "on", ">secret", "~*", "+@all")
				c := redis.NewClient(&redis.Options{Addr: m.Addr, Username: "service", Password: "secret", ContextTimeoutEnabled: true, ReadTimeout: unhurried})
				defer c.Close()
				tr := begin(t, load{clients: withOthers(t, c), deadline: unhurried})
				do(t, m, "ACL", "SETUSER", "service", "-"+command)
				tr.awaitFailed(t, inFunction, 100)
				tr.looks(t)
				do(t, m, "ACL", "SETUSER", "service", "+"+command)
				tr.awaitAnswers(t, 500)
				r := tr.end(t)
				r.only(t, inFunction)
				r.nothingDestroyed(t)
				named := false
				for _, err := range r.Errors {
					named = named || strings.Contains(err.Error(), "the user needs +"+command) || strings.Contains(err.Error(), "this server does not name it")
					if !strings.Contains(err.Error(), "`rlfunc acl service`") {
						t.Errorf("the caller gets %v", err)
					}
				}
				if !named {
					t.Errorf("no error names +%s: %v", command, r.Errors)
				}
			})
		}
	})
}

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
	r.only(t, "nothing ran: OOM", "not loaded")
	r.nothingDestroyed(t)
	if !slices.ContainsFunc(r.Errors, func(err error) bool {
		return strings.Contains(err.Error(), "OOM") && errors.Is(err, fcall.ErrNotLoaded)
	}) {
		t.Errorf("no caller's error says why the library is not loaded: %v", r.Errors)
	}
}
