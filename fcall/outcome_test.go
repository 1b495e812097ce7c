package fcall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

var sentinels = []struct {
	name string
	err  error
}{
	{"ErrArgument", fcall.ErrArgument},
	{"ErrState", fcall.ErrState},
	{"ErrNotLoaded", fcall.ErrNotLoaded},
	{"ErrReply", fcall.ErrReply},
	{"ErrUnavailable", fcall.ErrUnavailable},
	{"ErrNoPermission", fcall.ErrNoPermission},
	{"ErrUnsupported", fcall.ErrUnsupported},
	{"ErrOutcomeUnknown", fcall.ErrOutcomeUnknown},
	{"ErrScript", fcall.ErrScript},
}

// kinds returns the names of all sentinels that an error matches.
func kinds(err error) string {
	var names []string
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, " ")
}

func fakeClient(t *testing.T, s *fakeServer, o fcall.Options) *fcall.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: s.addr})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := fcall.NewClient(rdb, countLibrary, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const subject = "someone@example.org"

func TestCall_classifiesReplies(t *testing.T) {
	t.Parallel()
	const (
		script   = " script: fcalltest_v1_hit, on @user_function:25."
		nameless = " script: on @user_function:25." // Valkey 9.1
	)
	key := fcall.Key("fcalltest", subject, "n")
	steps := []struct {
		reply string
		sent  int
		kinds string
		text  string
	}{
		{"MOVED 1 127.0.0.1:7001", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: MOVED 1 127.0.0.1:7001; if this is a cluster, use redis.NewClusterClient"},
		{"ASK 1 127.0.0.1:7001", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: ASK 1 127.0.0.1:7001; if this is a cluster, use redis.NewClusterClient"},
		{"TRYAGAIN later", 12, "ErrUnavailable", "fcalltest.hit: nothing ran in 12 attempts: TRYAGAIN later"},
		{"CLUSTERDOWN Hash slot not served", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: CLUSTERDOWN Hash slot not served; the cluster does not serve this slot"},
		{"READONLY You can't write against a read only replica.", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: READONLY You can't write against a read only replica.; this is a replica; call the primary"},
		{"LOADING Redis is loading the dataset in memory", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: LOADING Redis is loading the dataset in memory"},
		{"MASTERDOWN Link with MASTER is down", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: MASTERDOWN Link with MASTER is down"},
		{"BUSY Redis is busy running a script.", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: BUSY Redis is busy running a script.; another script runs too long; see FUNCTION KILL"},
		{"ERR max number of clients reached", 3, "ErrUnavailable", "fcalltest.hit: nothing ran in 3 attempts: ERR max number of clients reached"},
		{"ERR DB index is out of range", 1, "ErrUnavailable", "fcalltest.hit: nothing ran: ERR DB index is out of range; the server has fewer databases than the client's DB option says"},
		{"ERR SELECT is not allowed in cluster mode", 1, "ErrUnavailable", "fcalltest.hit: nothing ran: ERR SELECT is not allowed in cluster mode; a cluster has database 0 only"},
		{"ERR This instance has cluster support disabled", 1, "ErrUnavailable", "fcalltest.hit: nothing ran: ERR This instance has cluster support disabled; if this is not a cluster, use redis.NewClient"},
		{"OOM command not allowed when used memory > 'maxmemory'.", 1, "ErrUnavailable", "fcalltest.hit: nothing ran: OOM command not allowed when used memory > 'maxmemory'.; the server is over maxmemory"},
		{"NOREPLICAS Not enough good replicas to write.", 1, "ErrUnavailable", "fcalltest.hit: nothing ran: NOREPLICAS Not enough good replicas to write.; the server has fewer replicas than min-replicas-to-write"},
		{"MISCONF cannot persist", 1, "ErrUnavailable", "fcalltest.hit: nothing ran: MISCONF cannot persist; the server cannot persist and refuses writes"},
		{"CROSSSLOT Keys in request don't hash to the same slot", 1, "ErrUnavailable", "fcalltest.hit: nothing ran: CROSSSLOT Keys in request don't hash to the same slot; all keys of a call must have one tag"},
		{"NOPERM this user has no permissions to run the 'fcall' command", 1, "ErrUnavailable ErrNoPermission", "fcalltest.hit: nothing ran: NOPERM this user has no permissions to run the 'fcall' command; the user needs FCALL, the function's commands and its keys: see `rlfunc acl service`"},
		{"NOAUTH Authentication required.", 1, "ErrUnavailable ErrNoPermission", "fcalltest.hit: nothing ran: NOAUTH Authentication required.; give the client a user and a password"},
		{"WRONGPASS invalid username-password pair", 1, "ErrUnavailable ErrNoPermission", "fcalltest.hit: nothing ran: WRONGPASS invalid username-password pair; check the client's user and password"},
		{"ERR unknown command 'FCALL', with args beginning with: 'fcalltest_v1_hit' '1' '" + key + "'", 1, "ErrUnavailable ErrUnsupported", "fcalltest.hit: nothing ran; the server has no Functions: Redis 7 or Valkey is needed"},
		{"ERR Function not found", 1, "ErrNotLoaded", "fcalltest.hit: fcalltest_v1 is not loaded on this server, or in a version without this function; run `rlfunc deploy`"},

		{"RLARG limit must be a whole number from 1 to 10", 1, "ErrArgument", "fcalltest.hit: limit must be a whole number from 1 to 10"},
		{"RLARG window must be from 1000 to 86400000000 microseconds", 1, "ErrArgument", "fcalltest.hit: window must be a duration from 1ms to 24h0m0s"},
		{"RLARG at must be from 0 to 9 microseconds since 1970", 1, "ErrArgument", "fcalltest.hit: at must be from 0 to 9 microseconds since 1970"},
		{"RLARG limit must be 1" + script, 1, "ErrArgument", "fcalltest.hit: limit must be 1"},
		{"RLARG limit must be 1" + nameless, 1, "ErrArgument", "fcalltest.hit: limit must be 1"},
		{"RLARG hit must be called with 2 to 17 keys and 1 argument", 1, "ErrArgument", "fcalltest.hit: hit must be called with 2 to 17 keys and 1 argument; a group has too many rows, or fcalltest_v1 on the server is newer than this client, which was generated from 1.0.0: update the service, or run `rlfunc rollback`; if the library is older, run `rlfunc deploy`"},
		{"RLARG hit must be called with 1 key and 2 to 3 arguments", 1, "ErrArgument", "fcalltest.hit: hit must be called with 1 key and 2 to 3 arguments; fcalltest_v1 on the server is newer than this client, which was generated from 1.0.0: update the service, or run `rlfunc rollback`; if the library is older, run `rlfunc deploy`"},
		{"RLARG odd", 1, "ErrArgument", "fcalltest.hit: an argument must be what the server says: odd"},
		{"RLSTATE " + key + ": holds a list", 1, "ErrState", "fcalltest.hit: key fcalltest:{some...}:n: holds a list; delete the key to reset it"},
		{"RLSTATE " + key + ": holds a list" + nameless, 1, "ErrState", "fcalltest.hit: key fcalltest:{some...}:n: holds a list; delete the key to reset it"},
		{"RLSTATE odd", 1, "ErrState", `fcalltest.hit: key "o...": unreadable; delete the key to reset it`},
		{"QUOTA is used up", 1, "", "fcalltest.hit: QUOTA is used up"},

		{"ERR user_function:25: attempt to index local 'x' (a nil value)" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: attempt to index local 'x' (a nil value) (outcome unknown, it may have written)"},
		{"ERR user_function:3: boom script: fcalltest_v1_hit, on @user_function:25.", 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/hit.lua:1: boom (outcome unknown, it may have written)"},
		{"ERR @user_function:25: boom", 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: boom (outcome unknown, it may have written)"},
		{"ERR user_function:1: boom", 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: bundle line 1: boom (outcome unknown, it may have written)"},
		{"ERR user_function:99999999999999999999: boom", 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: boom (outcome unknown, it may have written)"},
		{"ERR user_function:25: boom" + nameless, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: boom (outcome unknown, it may have written)"},
		{"WRONGTYPE Operation against a key" + nameless, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: WRONGTYPE Operation against a key (outcome unknown, it may have written)"},
		{"WRONGTYPE Operation against a key" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: WRONGTYPE Operation against a key (outcome unknown, it may have written)"},
		{"OOM command not allowed" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: OOM command not allowed (outcome unknown, it may have written)"},
		{"READONLY You can't write" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: READONLY You can't write (outcome unknown, it may have written)"},
		{"BUSY from inside" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: BUSY from inside (outcome unknown, it may have written)"},
		{"ERR The user executing the script can't run this command script: other", 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: no permission inside the function: the user lacks permission for a command, and this server does not name it (outcome unknown, it may have written); `rlfunc acl service` prints the permissions that it needs"},
		{"ERR The user executing the script can't run this command or subcommand" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: no permission inside the function: the user lacks permission for a command, and this server does not name it (outcome unknown, it may have written); `rlfunc acl service` prints the permissions that it needs"},
		{"ERR ERR ACL failure in script: User api has no permissions to run the 'incr' command" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: no permission inside the function: the user needs +incr (outcome unknown, it may have written); `rlfunc acl service` prints the permissions that it needs"},
		{"ERR ACL failure in script: No permissions to access a key" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: no permission inside the function: the user lacks permission for a key (outcome unknown, it may have written); `rlfunc acl service` prints the permissions that it needs"},
		{"ERR The user executing the script can't publish to the channel mentioned in the command" + script, 1, "ErrOutcomeUnknown ErrScript", "fcalltest.hit: fcalltest/crash.lua:3: The user executing the script can't publish to the channel mentioned in the command (outcome unknown, it may have written)"},

		{"WRONGTYPE Operation against a key", 1, "ErrOutcomeUnknown", "fcalltest.hit: outcome unknown, it may have run: WRONGTYPE Operation against a key"},
		{"ERR something new", 1, "ErrOutcomeUnknown", "fcalltest.hit: outcome unknown, it may have run: ERR something new"},
		{"", 1, "ErrOutcomeUnknown", "fcalltest.hit: outcome unknown, it may have run: "},
	}
	for _, s := range steps {
		t.Run(s.reply, func(t *testing.T) {
			server := newFakeServer(t, "-"+s.reply+"\r\n")
			c := fakeClient(t, server, fcall.Options{NoAutoLoad: true})
			_, err := c.Call(context.Background(), countFunction("hit"), []string{key}, nil)
			if diff := cmp.Diff(s.text, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(s.kinds, kinds(err)); diff != "" {
				t.Errorf("kinds (-want +got)\n%s", diff)
			}
			if strings.Contains(fmt.Sprint(err), subject) {
				t.Errorf("the message tells the subject: %v", err)
			}
			if got := server.served(); got != s.sent {
				t.Errorf("sent %d times, want %d", got, s.sent)
			}
		})
	}
}

func TestCodeError_matchesWhatTheTargetSets(t *testing.T) {
	err := fmt.Errorf("draw: %w", &fcall.CodeError{Function: "raffle.draw", Code: "DRAWN", Text: "the raffle has been drawn"})
	for _, c := range []struct {
		target error
		want   bool
	}{
		{&fcall.CodeError{Code: "DRAWN"}, true},
		{&fcall.CodeError{Code: "DRAWN", Function: "raffle.draw"}, true},
		{&fcall.CodeError{Code: "DRAWN", Function: "raffle.draw", Text: "the raffle has been drawn"}, true},
		{&fcall.CodeError{Code: "EMPTY"}, false},
		{&fcall.CodeError{Code: "DRAWN", Function: "raffle.enter"}, false},
		{&fcall.CodeError{Code: "DRAWN", Text: "another text"}, false},
		{&fcall.CodeError{}, false},
		{&fcall.CodeError{Function: "raffle.draw"}, false},
		{fcall.ErrScript, false},
	} {
		if got := errors.Is(err, c.target); got != c.want {
			t.Errorf("%+v: got %t, want %t", c.target, got, c.want)
		}
	}
}

func TestCall_rejectsNoReply(t *testing.T) {
	for _, raw := range []string{"$-1\r\n", "*-1\r\n"} {
		c := fakeClient(t, newFakeServer(t, raw), fcall.Options{})
		_, err := c.Call(context.Background(), countFunction("hit"), nil, nil)
		const want = "fcalltest.hit: the reply must be its results, got nothing; the server's library may differ from the one that this client was generated from"
		if fmt.Sprint(err) != want || kinds(err) != "ErrReply" {
			t.Errorf("%q: got %v (%s), want %s", raw, err, kinds(err), want)
		}
	}
}

func TestCall_retriesUntilItRuns(t *testing.T) {
	const loading, busy, ok = "-LOADING wait\r\n", "-BUSY wait\r\n", "*1\r\n:7\r\n"
	steps := []struct {
		name     string
		attempts int
		answers  []string
		sent     int
		kinds    string
	}{
		{"the first answer", 0, []string{ok}, 1, ""},
		{"the third of three", 0, []string{loading, busy, ok}, 3, ""},
		{"the fourth of three", 0, []string{loading, busy, loading, ok}, 3, "ErrUnavailable"},
		{"the second of one", 1, []string{loading, ok}, 1, "ErrUnavailable"},
		{"the fifth of five", 5, []string{loading, busy, loading, busy, ok}, 5, ""},
		{"a lost reply after a proof", 0, []string{loading, hangUp, ok}, 2, "ErrOutcomeUnknown"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			server := newFakeServer(t, s.answers...)
			c := fakeClient(t, server, fcall.Options{MaxAttempts: s.attempts})
			_, err := c.Call(context.Background(), countFunction("hit"), nil, nil)
			if diff := cmp.Diff(s.kinds, kinds(err)); diff != "" {
				t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
			}
			if got := server.served(); got != s.sent {
				t.Errorf("sent %d times, want %d", got, s.sent)
			}
		})
	}
}

// go-redis keeps the first error of a command in a cluster pipeline. Both commands are MOVED, then run on the new node,
// which breaks the connection: the second command still says MOVED, and may have run.
func TestQueue_movedCommandThatRanIsUnknown(t *testing.T) {
	steps := []struct{ name, second, want string }{
		{"the new node breaks the connection", hangUp, "ErrOutcomeUnknown"},
		{"the new node answers", "*1\r\n:7\r\n", ""},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			target := newFakeServer(t, s.second)
			source := newFakeServer(t, "-MOVED 1 "+target.addr+"\r\n")
			rdb := cluster(source.addr)
			defer rdb.Close()
			c, err := fcall.NewClient(rdb, countLibrary, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			pipe := rdb.Pipeline()
			ctx := context.Background()
			first := c.Queue(ctx, pipe, countFunction("hit"), []string{"k"}, nil)
			second := c.Queue(ctx, pipe, countFunction("hit"), []string{"k"}, nil)
			_, _ = pipe.Exec(ctx)
			_, err1 := first.Reply()
			_, err2 := second.Reply()
			if diff := cmp.Diff([]string{s.want, s.want}, []string{kinds(err1), kinds(err2)}); diff != "" {
				t.Errorf("%v and %v (-want +got)\n%s", err1, err2, diff)
			}
		})
	}
}

// If the nodes of a cluster redirect calls in a circle, the client stops after go-redis' maximum of redirections.
func TestCall_redirectionLoopEnds(t *testing.T) {
	for _, w := range ways {
		if !w.isCluster() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			server := newFakeServer(t)
			server.answer("-MOVED 1 " + server.addr + "\r\n")
			caller := w.open(t, server.addr)
			c := newClient(t, caller, fcall.Options{})
			_, err := callOnce(t.Context(), c, caller, countFunction("hit"), "k")
			if diff := cmp.Diff("ErrOutcomeUnknown", kinds(err)); diff != "" {
				t.Errorf("kinds of %v (-want +got)\n%s", err, diff)
			}
			if n := server.served(); n > 4 {
				t.Errorf("was sent %d times", n)
			}
		})
	}
}

func TestQueue_withoutExecNothingRan(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: noServer})
	defer rdb.Close()
	c, err := fcall.NewClient(rdb, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Queue(context.Background(), rdb.Pipeline(), countFunction("hit"), nil, nil).Reply()
	if diff := cmp.Diff("fcalltest.hit: nothing ran: the pipeline was not executed", fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
