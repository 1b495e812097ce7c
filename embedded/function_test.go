package embedded_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

const (
	one     = "#!lua name=one\nredis.register_function('f', function() return 1 end)\n"
	other   = "#!lua name=one\nredis.register_function('g', function() return 2 end)\n"
	taken   = "#!lua name=two\nredis.register_function('F', function() return 3 end)\n"
	renamed = "#!lua name=ONE\nredis.register_function('h', function() return 4 end)\n"
)

func TestFUNCTION_loadListDelete(t *testing.T) {
	s, _ := newServer(t)
	steps := []struct {
		name string
		args []any
		want any
	}{
		{"load", []any{"FUNCTION", "LOAD", one}, "one"},
		{"same name again", []any{"FUNCTION", "LOAD", one}, "ERR Library 'one' already exists"},
		{"function of another library, in other case", []any{"FUNCTION", "LOAD", taken}, "ERR Function F already exists"},
		{"the same with REPLACE", []any{"FUNCTION", "LOAD", "REPLACE", taken}, "ERR Function F already exists"},
		{"library names are case-sensitive", []any{"FUNCTION", "LOAD", renamed}, "ONE"},
		{"replace", []any{"FUNCTION", "LOAD", "replace", other}, "one"},
		{"its old function is gone", []any{"FCALL", "f", 0}, "ERR Function not found"},
		{"and its name is free", []any{"FUNCTION", "LOAD", taken}, "two"},
		{"unknown option", []any{"FUNCTION", "LOAD", "FOO", one}, "ERR Unknown option given: FOO"},
		{"no code", []any{"FUNCTION", "LOAD"}, "ERR wrong number of arguments for 'function|load' command"},
		{"unknown subcommand", []any{"FUNCTION", "FOO"}, "ERR unknown subcommand 'FOO'. Try FUNCTION HELP. (the embedded engine has no 'FUNCTION FOO', see docs/embedded.md)"},
		{"list: bad word", []any{"FUNCTION", "LIST", "FOO"}, "ERR Unknown argument FOO"},
		{"list: no pattern", []any{"FUNCTION", "LIST", "LIBRARYNAME"}, "ERR library name argument was not given"},
		{"list: word twice", []any{"FUNCTION", "LIST", "WITHCODE", "WITHCODE"}, "ERR Unknown argument WITHCODE"},
		{"list", []any{"FUNCTION", "LIST", "LIBRARYNAME", "TW?", "WITHCODE"}, []any{[]any{
			"library_name", "two", "engine", "LUA",
			"functions",
			[]any{[]any{"name", "F", "description", nil, "flags", []any{}}},
			"library_code", taken,
		}}},
		{"stats", []any{"FUNCTION", "STATS"}, []any{
			"running_script", nil, "engines", []any{"LUA", []any{"libraries_count", int64(3), "functions_count", int64(3)}},
		}},
		{"kill", []any{"FUNCTION", "KILL"}, "NOTBUSY No scripts in execution right now."},
		{"delete", []any{"FUNCTION", "DELETE", "two"}, "OK"},
		{"delete again", []any{"FUNCTION", "DELETE", "two"}, "ERR Library not found"},
		{"FLUSHALL keeps libraries", []any{"FLUSHALL"}, "OK"},
		{"call", []any{"FCALL", "G", 0}, int64(2)},
		{"flush: bad word", []any{"FUNCTION", "FLUSH", "FOO"}, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option"},
		{"flush", []any{"FUNCTION", "FLUSH", "SYNC"}, "OK"},
		{"none left", []any{"FUNCTION", "LIST"}, []any{}},
	}
	for _, step := range steps {
		if diff := cmp.Diff(step.want, answer(call(s, step.args...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestFUNCTION_failedReplaceLeavesTheOldLibrary(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, one)
	if err := call(s, "FUNCTION", "LOAD", "REPLACE", "#!lua name=one\nthis is not lua").Err(); err == nil {
		t.Error("code that is not Lua was loaded")
	}
	if got := answer(call(s, "FCALL", "f", 0)); got != int64(1) {
		t.Errorf("the old function answers %v, want 1", got)
	}
}

func TestFUNCTION_goRedisReadsTheList(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, library)
	ctx := context.Background()
	cmd := redis.NewFunctionListCmd(ctx, "FUNCTION", "LIST", "WITHCODE")
	if err := s.Process(ctx, cmd); err != nil {
		t.Fatal(err)
	}
	l, err := cmd.First()
	if err != nil {
		t.Fatal(err)
	}
	if l.Name != "testlib" || l.Code != library || len(l.Functions) != 6 {
		t.Errorf("library %q with %d functions and %d bytes of code", l.Name, len(l.Functions), len(l.Code))
	}
}
