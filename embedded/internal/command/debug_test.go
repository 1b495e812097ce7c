package command_test

import (
	"strconv"
	"strings"
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

// Redis sends such a reply until the connection is above client-output-buffer-limit.
func TestSample_boundsRepliesOfNegativeCounts(t *testing.T) {
	do := do()
	long := strings.Repeat("x", 1<<20)
	for _, setup := range [][]string{
		{"sadd", "s", "x"}, {"hset", "h", "f", "v"}, {"zadd", "z", "1", "m"}, {"sadd", "long", long},
	} {
		if v := do(setup...); v.IsError() {
			t.Fatal(setup[0], v.Str)
		}
	}
	for _, ask := range [][]string{
		{"srandmember", "s", "-9223372036854775807"},
		{"hrandfield", "h", "-4611686018427387903", "withvalues"},
		{"zrandmember", "z", "-4194305"},
		{"srandmember", "long", "-256"},
	} {
		if v := do(ask...); v.Kind != reply.Error || v.Str != "ERR value is out of range, the reply would exceed 256 MiB" {
			t.Errorf("%v: %d elements, %q", ask, len(v.Array), v.Str)
		}
	}
	for _, ask := range [][]string{{"srandmember", "s", "-1000000"}, {"srandmember", "long", "-255"}} {
		if v := do(ask...); v.Kind != reply.Array || "-"+strconv.Itoa(len(v.Array)) != ask[2] {
			t.Errorf("%v: %d elements, %q", ask, len(v.Array), v.Str)
		}
	}
}
