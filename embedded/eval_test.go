package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

func TestEVAL_goRedisRunsScripts(t *testing.T) {
	s, _ := newServer(t)
	client := s.Client()
	defer client.Close()
	for name, run := range map[string]redis.Scripter{"connection": client, "process": processScripter{s}} {
		t.Run(name, func(t *testing.T) {
			add := redis.NewScript("return redis.call('INCRBY', KEYS[1], ARGV[1]) -- " + name)
			for i := 1; i <= 2; i++ { // once by EVAL, once by EVALSHA
				if got, err := add.Run(t.Context(), run, []string{name}, 2).Int(); got != 2*i || err != nil {
					t.Errorf("call %d: %d, %v, want %d", i, got, err, 2*i)
				}
			}
		})
	}
}

// processScripter runs scripts by Process.
type processScripter struct{ *embedded.Server }

func (p processScripter) run(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	words := []any{name, script, len(keys)}
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	_ = p.Process(ctx, cmd) // the command keeps the error
	return cmd
}

func (p processScripter) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "eval", script, keys, args)
}

func (p processScripter) EvalRO(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "eval_ro", script, keys, args)
}

func (p processScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "evalsha", sha, keys, args)
}

func (p processScripter) EvalShaRO(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "evalsha_ro", sha, keys, args)
}

func (p processScripter) ScriptExists(ctx context.Context, hashes ...string) *redis.BoolSliceCmd {
	cmd := redis.NewBoolSliceCmd(ctx, "script", "exists", hashes[0])
	_ = p.Process(ctx, cmd) // the command keeps the error
	return cmd
}

func (p processScripter) ScriptLoad(ctx context.Context, script string) *redis.StringCmd {
	cmd := redis.NewStringCmd(ctx, "script", "load", script)
	_ = p.Process(ctx, cmd) // the command keeps the error
	return cmd
}

func TestEVAL_keysAreDeclaredUnlessPermitted(t *testing.T) {
	for permitted, want := range map[bool]any{false: "RLUNDECLARED key 'other' is not among the KEYS of this call", true: "OK"} {
		s := embedded.New(embedded.Options{UndeclaredKeys: permitted})
		got := answer(call(s, "EVAL", "return redis.pcall('SET', 'other', 1)", 1, "k"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("UndeclaredKeys %v (-want +got):\n%s", permitted, diff)
		}
		_ = s.Close()
	}
}

// Scripts that are made for each call do not fill the memory: EVAL keeps 500, and those of SCRIPT LOAD.
func TestEVAL_cacheIsBounded(t *testing.T) {
	s, _ := newServer(t)
	kept := answer(call(s, "SCRIPT", "LOAD", "return 'kept'"))
	first := redis.NewScript("return 0").Hash()
	for i := range 501 {
		call(s, "EVAL", fmt.Sprintf("return %d", i), 0)
	}
	if diff := cmp.Diff([]any{int64(1), int64(0)}, answer(call(s, "SCRIPT", "EXISTS", kept, first))); diff != "" {
		t.Errorf("SCRIPT EXISTS of a loaded script and of the first one (-want +got):\n%s", diff)
	}
	if info := answer(call(s, "INFO", "memory")).(string); !strings.Contains(info, "number_of_cached_scripts:501\r\n") {
		t.Errorf("INFO memory: %s", info)
	}
}

// A script that does not end makes other clients get BUSY, and SCRIPT KILL alone ends it.
func TestEVAL_busy(t *testing.T) {
	s, _ := newServer(t)
	client := s.Client()
	defer client.Close()
	call(s, "CONFIG", "SET", "busy-reply-threshold", 5)
	done := make(chan any)
	go func() { done <- answer(call(s, "EVAL", "while true do pcall(redis.call, 'PING') end", 0)) }()
	const busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := client.Get(t.Context(), "k").Err()
		if err != nil && err.Error() == busy {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("GET: %v, want BUSY", err)
		}
	}
	_, err := client.TxPipelined(t.Context(), func(p redis.Pipeliner) error { return p.Incr(t.Context(), "k").Err() })
	if err == nil || !strings.HasPrefix(err.Error(), "BUSY") && !strings.HasPrefix(err.Error(), "EXECABORT") {
		t.Errorf("EXEC: %v, want BUSY", err)
	}
	if err := client.FunctionKill(t.Context()).Err(); err == nil || err.Error() != busy {
		t.Errorf("FUNCTION KILL: %v, want BUSY", err)
	}
	if stats := client.FunctionStats(t.Context()).Val(); !stats.Running() {
		t.Errorf("FUNCTION STATS: %v, want the running script", stats)
	}
	if err := client.ScriptKill(t.Context()).Err(); err != nil {
		t.Errorf("SCRIPT KILL: %v", err)
	}
	if got := fmt.Sprint(<-done); !strings.Contains(got, "Script killed by user with SCRIPT KILL") {
		t.Errorf("the killed script answers %q", got)
	}
	if got := answer(call(s, "PING")); got != "PONG" {
		t.Errorf("PING afterwards: %v", got)
	}
}

// A busy script that has written goes on; a snapshot waits until it has ended, and has all or nothing of it.
func TestEVAL_busyStaysAtomic(t *testing.T) {
	s, _ := newServer(t)
	call(s, "CONFIG", "SET", "busy-reply-threshold", 1)
	const script = `redis.call('SET', KEYS[1], 0)
local n = 0
while n < 3000000 do n = n + 1 end
return redis.call('INCR', KEYS[1])`
	done := make(chan any, 1)
	for killed := any("OK"); killed == "OK"; { // it has not written yet
		go func() { done <- answer(call(s, "EVAL", script, 1, "k")) }()
		for killed = nil; killed != "OK" && !strings.HasPrefix(fmt.Sprint(killed), "UNKILLABLE"); {
			killed = answer(call(s, "SCRIPT", "KILL"))
		}
		if killed == "OK" {
			<-done
		}
	}
	snapshot := s.Snapshot()
	if got := <-done; got != int64(1) {
		t.Errorf("the script answers %v, want 1", got)
	}
	s.Restore(snapshot)
	if got := answer(call(s, "GET", "k")); got != "1" {
		t.Errorf("the snapshot has %v, want 1", got)
	}
}
