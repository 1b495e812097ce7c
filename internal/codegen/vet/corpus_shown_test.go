package vet_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/codegen/bundle"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

// oldest returns a server of Redis 7.0, whose commands and texts the corpus and the forms have.
func oldest(t *testing.T) engines.Engine {
	t.Helper()
	for _, e := range engines.Real(t) {
		if strings.HasPrefix(e.Version, "Redis 7.0.") {
			return e
		}
	}
	t.Skip("no Redis 7.0")
	return engines.Engine{}
}

// TestCorpus_isShownOnAServer demonstrates each function of the corpus: a hostile one does on a real server what its directives say,
// and a good one leaves no key without an expiry.
func TestCorpus_isShownOnAServer(t *testing.T) {
	client := oldest(t).Client(t)
	if err := client.ConfigSet(t.Context(), "busy-reply-threshold", "20").Err(); err != nil {
		t.Fatalf("set the threshold: %v", err)
	}
	t.Cleanup(func() { client.ConfigSet(context.Background(), "busy-reply-threshold", "5000") })
	for _, folder := range []string{"hostile", "good"} {
		for _, e := range corpus(t, folder) {
			t.Run(e.name, func(t *testing.T) {
				if len(e.directives) == 0 {
					t.Fatal("nothing shows it")
				}
				s := &shown{t: t, entry: e, client: client}
				s.run()
				if folder == "good" {
					s.everyKeyExpires()
				}
			})
		}
	}
}

// shown is the demonstration of one function.
type shown struct {
	t      *testing.T
	entry  entry
	client *redis.Client
	fn     spec.Function
	reply  string
	err    error
}

const shownPrefix = "t:{u}:"

func (s *shown) run() {
	ctx := s.t.Context()
	if err := s.client.FlushDB(ctx).Err(); err != nil {
		s.t.Fatalf("flush: %v", err)
	}
	tree, found := source.Load(s.entry.files(), "functions", source.Options{})
	if len(found) > 0 {
		s.t.Logf("findings of the source: %v", found)
	}
	if word, want, _ := strings.Cut(s.entry.directives[0], " "); word == "load" && len(found) > 0 {
		err := s.client.FunctionLoadReplace(ctx, "#!lua name=corpus\n"+s.entry.text).Err()
		if err == nil || !strings.Contains(err.Error(), want) {
			s.t.Errorf("load: got %v, want an error with %q", err, want)
		}
		return
	}
	if len(tree.Libraries) != 1 || len(tree.Libraries[0].Spec.Functions) != 1 {
		s.t.Fatalf("the source cannot be read: %v", found)
	}
	s.fn = tree.Libraries[0].Spec.Functions[0]
	loaded := s.client.FunctionLoadReplace(ctx, bundle.Write(tree.Libraries[0]).Code).Err()
	for _, d := range s.entry.directives {
		word, rest, _ := strings.Cut(d, " ")
		if word == "load" {
			if loaded == nil || !strings.Contains(loaded.Error(), rest) {
				s.t.Errorf("load: got %v, want an error with %q", loaded, rest)
			}
			return
		}
		if loaded != nil {
			s.t.Fatalf("load: %v", loaded)
		}
		s.step(word, rest)
	}
}

func (s *shown) step(word, rest string) {
	switch word {
	case "before":
		if err := s.client.Do(s.t.Context(), s.words(rest)...).Err(); err != nil && err != redis.Nil {
			s.t.Fatalf("before %s: %v", rest, err)
		}
	case "call":
		s.reply, s.err = printReply(s.client.Do(s.t.Context(), s.call(rest)...))
		s.t.Logf("call %s: %s %v", rest, s.reply, s.err)
	case "reply":
		if s.err != nil || s.reply != rest {
			s.t.Errorf("reply %s %v, want %s", s.reply, s.err, rest)
		}
	case "error":
		if s.err == nil || !strings.Contains(s.err.Error(), rest) {
			s.t.Errorf("reply %s %v, want an error with %q", s.reply, s.err, rest)
		}
	case "then":
		s.then(rest)
	case "hangs":
		s.hangs(rest)
	case "slower":
		s.slower(rest)
	}
}

// words splits a directive; a word in double quotes is a Go string, and 3*x is x three times.
func (s *shown) words(text string) []any {
	for _, p := range s.fn.Params {
		if p.Kind == spec.KindKey {
			text = strings.ReplaceAll(text, "$"+p.Lua+" ", shownPrefix+p.Suffix+" ")
			if strings.HasSuffix(text, "$"+p.Lua) {
				text = strings.TrimSuffix(text, "$"+p.Lua) + shownPrefix + p.Suffix
			}
		}
	}
	var out []any
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] == '"' {
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				s.t.Fatalf("directive %s: %v", text, err)
			}
			word, _ := strconv.Unquote(quoted)
			out, text = append(out, word), text[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(text, " ")
		text = rest
		n, same, repeated := strings.Cut(word, "*")
		if times, err := strconv.Atoi(n); repeated && err == nil {
			out = append(out, slices.Repeat([]any{same}, times)...)
			continue
		}
		out = append(out, word)
	}
	return out
}

func (s *shown) call(args string) []any {
	var keys []any
	for _, p := range s.fn.Params {
		if p.Kind == spec.KindKey {
			keys = append(keys, shownPrefix+p.Suffix)
		}
	}
	out := append([]any{"FCALL", s.fn.Server, len(keys)}, keys...)
	return append(out, s.words(args)...)
}

func printReply(cmd *redis.Cmd) (string, error) {
	v, err := cmd.Result()
	if err == redis.Nil {
		return "nil", nil
	}
	if err != nil {
		return "", err
	}
	return printed(v), nil
}

func printed(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = printed(item)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(v)
}

// then compares the answer of a command.
func (s *shown) then(rest string) {
	for _, op := range []string{" = ", " < ", " > "} {
		command, want, ok := strings.Cut(rest, op)
		if !ok {
			continue
		}
		got, err := printReply(s.client.Do(s.t.Context(), s.words(command)...))
		if err != nil {
			got = err.Error()
		}
		number, _ := strconv.ParseFloat(got, 64)
		bound, _ := strconv.ParseFloat(want, 64)
		switch {
		case op == " = " && got == want, op == " < " && number < bound, op == " > " && number > bound:
		default:
			s.t.Errorf("%s: got %s, want%s%s", command, got, op, want)
		}
		return
	}
	s.t.Fatalf("then %s: no operator", rest)
}

// hangs starts a call, waits until the server is busy with it, and kills it.
func (s *shown) hangs(rest string) {
	ctx := s.t.Context()
	ended := make(chan error, 1)
	other := redis.NewClient(s.client.Options())
	defer other.Close()
	go func() { ended <- other.Do(ctx, s.call(rest)...).Err() }()
	for {
		err := s.client.Ping(ctx).Err()
		if err != nil && strings.HasPrefix(err.Error(), "BUSY") {
			break
		}
		select {
		case err := <-ended:
			s.t.Fatalf("the call ended: %v", err)
		default:
		}
	}
	if err := s.client.FunctionKill(ctx).Err(); err != nil {
		s.t.Fatalf("kill: %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
		s.t.Errorf("the call: %v, want killed", err)
	}
}

// fillScript adds n elements to a key.
const fillScript = `
local kind, n = ARGV[1], tonumber(ARGV[2])
for i = 1, n do
  local element = string.format('%08d', i)
  if kind == 'string' then redis.call('APPEND', KEYS[1], element)
  elseif kind == 'list' then redis.call('RPUSH', KEYS[1], element)
  elseif kind == 'set' then redis.call('SADD', KEYS[1], element)
  elseif kind == 'hash' then redis.call('HSET', KEYS[1], element, '1')
  elseif kind == 'stream' then redis.call('XADD', KEYS[1], '*', 'f', element)
  else redis.call('ZADD', KEYS[1], i, element) end
end`

// slower compares the server's time of a call with few elements to that with many.
func (s *shown) slower(rest string) {
	key, rest, _ := strings.Cut(rest, " ")
	kind, args, _ := strings.Cut(rest, " ")
	key = s.words(key)[0].(string)
	few, many := s.cost(key, kind, 10, args, 20), s.cost(key, kind, 20_000, args, 3)
	if many < 8*few {
		s.t.Errorf("a call takes %v with 10 elements and %v with 20,000", few, many)
	}
}

// cost returns the least time of some calls.
func (s *shown) cost(key, kind string, elements int, args string, calls int) time.Duration {
	ctx := s.t.Context()
	least := time.Hour
	for range calls {
		s.client.Del(ctx, key)
		if err := s.client.Eval(ctx, fillScript, []string{key}, kind, elements).Err(); err != nil && err != redis.Nil {
			s.t.Fatalf("fill: %v", err)
		}
		s.client.ConfigResetStat(ctx)
		if _, err := printReply(s.client.Do(ctx, s.call(args)...)); err != nil {
			s.t.Fatalf("call: %v", err)
		}
		info, err := s.client.Info(ctx, "commandstats").Result()
		if err != nil {
			s.t.Fatalf("info: %v", err)
		}
		_, after, _ := strings.Cut(info, "cmdstat_fcall:calls=1,usec=")
		usec, _, ok := strings.Cut(after, ",")
		n, err := strconv.Atoi(usec)
		if !ok || err != nil {
			s.t.Fatalf("info: %s", info)
		}
		least = min(least, time.Duration(max(n, 1))*time.Microsecond)
	}
	return least
}

func (s *shown) everyKeyExpires() {
	ctx := s.t.Context()
	keys, err := s.client.Keys(ctx, "*").Result()
	if err != nil {
		s.t.Fatalf("keys: %v", err)
	}
	for _, key := range keys {
		lasts := false
		for _, p := range s.fn.Params {
			lasts = lasts || p.Forever && key == shownPrefix+p.Suffix
		}
		if ttl := s.client.PTTL(ctx, key).Val(); ttl == -1 && !lasts { // -2 is a key that has expired since
			s.t.Errorf("%s has no expiry", key)
		}
	}
}
