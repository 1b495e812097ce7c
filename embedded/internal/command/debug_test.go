package command_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

func TestDebug_setActiveExpireKeepsExpiredKeysUntilTheirUse(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	state := command.NewState(func() time.Time { return now }, nil)
	session := state.Connect("test")
	size := func() int64 { return state.Do(session, []string{"dbsize"}).Int }
	for _, args := range [][]string{
		{"debug", "set-active-expire", "0"},
		{"set", "a", "1", "px", "1"},
		{"set", "b", "1", "px", "1"},
	} {
		if v := state.Do(session, args); v.IsError() {
			t.Fatal(v.Str)
		}
	}
	now = now.Add(time.Second)
	if n := size(); n != 2 {
		t.Errorf("%d keys while nothing expires by itself, want 2", n)
	}
	state.Do(session, []string{"get", "a"})
	if n := size(); n != 1 {
		t.Errorf("%d keys after the use of one, want 1", n)
	}
	state.Do(session, []string{"debug", "set-active-expire", "1"})
	if n := size(); n != 0 {
		t.Errorf("%d keys once keys expire by themselves, want 0", n)
	}
}

func TestDebug_reloadKeepsKeysAndLoadsLibrariesAgain(t *testing.T) {
	do := do()
	library := "#!lua name=counting\nlocal n = 0\nredis.register_function('count', function() n = n + 1; return n end)"
	for _, args := range [][]string{
		{"function", "load", library},
		{"fcall", "count", "0"},
		{"set", "k", "v", "ex", "100"},
		{"debug", "reload"},
	} {
		if v := do(args...); v.IsError() {
			t.Fatal(v.Str)
		}
	}
	for ask, want := range map[string]reply.Value{"get": reply.Text("v"), "ttl": reply.Integer(100)} {
		if v := do(ask, "k"); v.Kind != want.Kind || v.Str != want.Str || v.Int != want.Int {
			t.Errorf("%s: %+v, want %+v", ask, v, want)
		}
	}
	if v := do("fcall", "count", "0"); v.Int != 1 {
		t.Errorf("the library counts %d, want 1: a reload begins with its source", v.Int)
	}
}
