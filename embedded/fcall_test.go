package embedded_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFCALL_answersAsRedisDoes(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, library)
	tests := []struct {
		name string
		args string
		want any
	}{
		{"unknown function", "FCALL nope 0", "ERR Function not found"},
		{"keys not a number", "FCALL run x", "ERR Bad number of keys provided"},
		{"negative keys", "FCALL run -1", "ERR Number of keys can't be negative"},
		{"more keys than arguments", "FCALL run 5 a", "ERR Number of keys can't be greater than number of args"},
		{"name in other case", "FCALL RUN 0 PING", "PONG"},
		{"writes", "FCALL run 1 k SET k v", "OK"},
		{"reads", "FCALL run_ro 1 k GET k", "v"},
		{"reads by FCALL_RO", "FCALL_RO run_ro 1 k GET k", "v"},
		{"FCALL_RO of a function that may write", "FCALL_RO run 1 k GET k", "ERR Can not execute a script with write flag using *_ro command."},
		{"caught: unknown command", "FCALL try 0 NOSUCH", "ERR Unknown Redis command called from script (the embedded engine has no 'NOSUCH', see docs/reference/embedded.md)"},
		{"caught: unknown subcommand", "FCALL try 0 CLIENT NOSUCH x", "ERR Unknown Redis command called from script (the embedded engine has no 'CLIENT NOSUCH', see docs/reference/embedded.md)"},
		{"caught: command that only Redis has", "FCALL try 1 q XACK q g 1-1", "ERR Unknown Redis command called from script (the embedded engine has no 'XACK', see docs/reference/embedded.md)"},
		{"caught: arity", "FCALL try 1 k GET k k", "ERR Wrong number of args calling Redis command from script"},
		{"caught: MULTI", "FCALL try 0 MULTI", "ERR This Redis command is not allowed from script"},
		{"caught: FCALL", "FCALL try 0 FCALL run 0", "ERR This Redis command is not allowed from script"},
		{"caught: FUNCTION", "FCALL try 0 FUNCTION LIST", "ERR This Redis command is not allowed from script"},
		{"caught: CONFIG", "FCALL try 0 CONFIG GET maxmemory", "ERR This Redis command is not allowed from script"},
		{"caught: wrong type", "FCALL try 1 k LPUSH k v", "WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"caught: undeclared key", "FCALL try 1 k GET other", "RLUNDECLARED key 'other' is not among the KEYS of this call"},
		{"caught: one of several undeclared", "FCALL try 1 k DEL k other", "RLUNDECLARED key 'other' is not among the KEYS of this call"},
		{"a queue: add", "FCALL run 1 q XADD q 1-1 n 1", "1-1"},
		{"a queue: read", "FCALL run 1 q XREAD STREAMS q 0", []any{[]any{"q", []any{[]any{"1-1", []any{"n", "1"}}}}}},
		{"a queue: nothing more", "FCALL run 1 q XREAD STREAMS q 1-1", "redis: nil"},
		{"a queue: undeclared", "FCALL try 1 q XREAD STREAMS q other 0 0", "RLUNDECLARED key 'other' is not among the KEYS of this call"},
		{"a queue: waiting", "FCALL try 1 q XREAD BLOCK 0 STREAMS q $", "ERR XREAD command is not allowed with BLOCK option from scripts"},
		{"declared twice", "FCALL run 2 k k EXISTS k", int64(1)},
		{"SELECT ends with the function", "FCALL run 0 SELECT 1", "OK"},
		{"the key is still in database 0", "EXISTS k", int64(1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, answer(call(s, words(test.args)...))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.args, diff)
			}
		})
	}
}

func words(line string) []any {
	var args []any
	for _, w := range strings.Fields(line) {
		args = append(args, w)
	}
	return args
}

func TestFCALL_readOnlyFunctionWritesNothing(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, library)
	got, _ := answer(call(s, "FCALL", "run_ro", 1, "k", "SET", "k", "v")).(string)
	if !strings.HasPrefix(got, "ERR Write commands are not allowed from read-only scripts.") {
		t.Errorf("SET in a no-writes function: %q", got)
	}
	if n := answer(call(s, "DBSIZE")); n != int64(0) {
		t.Errorf("%v keys after a refused write, want 0", n)
	}
}

func TestFCALL_timeStandsStillWithinAFunction(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, library)
	if diff := cmp.Diff([]any{int64(1), "1000"}, answer(call(s, "FCALL", "twice", 1, "n"))); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

func TestFCALL_overMaxMemory(t *testing.T) {
	const oom = "OOM command not allowed when used memory > 'maxmemory'."
	s, _ := newServer(t)
	load(t, s, library)
	call(s, "SET", "k", "v")
	call(s, "CONFIG", "SET", "maxmemory", 1)
	tests := []struct {
		name, args string
		want       any
	}{
		{"plain write", "SET k v", oom},
		{"plain read", "GET k", "v"},
		{"delete", "DEL none", int64(0)},
		{"function without flags, though it only reads", "FCALL run 1 k GET k", oom},
		{"no-writes", "FCALL run_ro 1 k GET k", "v"},
		{"allow-oom", "FCALL run_oom 1 k SET k w", "OK"},
		{"load", "FUNCTION LOAD code", oom},
		{"enough memory again", "CONFIG SET maxmemory 100mb", "OK"},
		{"write", "SET k x", "OK"},
		{"function", "FCALL run 1 k GET k", "x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, answer(call(s, words(test.args)...))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.args, diff)
			}
		})
	}
}
