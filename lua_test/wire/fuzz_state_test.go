package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// FuzzState calls any function with legal arguments on keys of which one, or each, holds anything: no reply is an error of
// Lua, and a refused call leaves what was there. The stored value is a text, or elements, members and scores, fields and values
// between commas. It begins with what the functions themselves store.
func FuzzState(f *testing.F) {
	s := newFuzzServer(f)
	now := luatest.Start.UnixMicro()
	for i, w := range wireCalls {
		for at := range w.keys {
			if testing.Short() && (i+at)%2 > 0 {
				continue
			}
			for kind := range byte(4) {
				for _, text := range append(strange, "60000", "1763706467123584 60000 3/7", "5 60000 9/3", "5 60000 0/0", "5 60000", "1410000001000000", "110000010000000", "1763706467123584,x,1763706467123585", "r1,5,r2,inf,r1,-inf") {
					f.Add(byte(i), byte(at), kind, text, int64(60_000), int64(0))
				}
			}
			for _, text := range s.stored(f, w.keys[at]) {
				for kind := range byte(4) {
					f.Add(byte(i), byte(at), kind, text, int64(60_000), int64(0))
					f.Add(byte(i), byte(at), kind, text, int64(0), int64(0))
					f.Add(byte(i), byte(at), kind, text, int64(1), now)
					f.Add(byte(i), byte(at), kind, text, int64(60_000), -now)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, at, kind byte, stored string, ttlMS, clockUS int64) {
		w := wireCalls[int(which)%len(wireCalls)]
		s.clock.Set(luatest.Start.Add(time.Duration(clockUS%(50*365*24*3600_000_000)) * time.Microsecond))
		s.must(t, "FLUSHDB")
		// One more than there are keys is all of them.
		only := int(at) % (len(w.keys) + 1)
		for i, name := range w.keys {
			if only != i && only != len(w.keys) {
				continue
			}
			if words := storing(kind, name, stored); words != nil {
				if _, err := s.do(words...); err == nil && ttlMS > 0 {
					s.must(t, "PEXPIRE", name, ttlMS%(1<<40)+1)
				}
			}
		}
		before := s.dump(t)
		if err := s.call(t, w, w.keys, w.args); err != nil && before != s.dump(t) {
			t.Fatalf("%s was refused (%v) and changed what was stored", w.name, err)
		}
	})
}

// storing is the command that stores a text in a key of some type; nil where there is nothing to store.
func storing(kind byte, name, stored string) []any {
	parts := strings.Split(stored, ",")
	words, pairs := []any(nil), true
	switch kind % 4 {
	case 0:
		return []any{"SET", name, stored}
	case 1:
		words, pairs = []any{"RPUSH", name}, false
	case 2:
		words = []any{"ZADD", name}
	case 3:
		words = []any{"HSET", name}
	}
	empty := len(words)
	for i := 0; i < len(parts); i++ {
		switch {
		case !pairs:
			words = append(words, parts[i])
		case i+1 == len(parts): // a half
		case kind%4 == 2:
			words = append(words, parts[i+1], parts[i])
			i++
		default:
			words = append(words, parts[i], parts[i+1])
			i++
		}
	}
	if len(words) == empty {
		return nil
	}
	return words
}

// stored are the texts that functions leave in a key: each is called once, and then all once more.
func (s fuzzServer) stored(f *testing.F, name string) (texts []string) {
	s.must(f, "FLUSHDB")
	for range 2 {
		for _, w := range wireCalls {
			for _, its := range w.keys {
				if its == name && !strings.HasSuffix(w.name, "reset") {
					_, _ = s.do(w.words(w.keys, w.args)...) // a challenge that was consumed is refused
					texts = append(texts, s.text(f, name))
				}
			}
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// text is what a key holds, as storing takes it.
func (s fuzzServer) text(t testing.TB, name string) string {
	var parts []string
	switch s.must(t, "TYPE", name) {
	case "string":
		return s.must(t, "GET", name).(string)
	case "list":
		for _, e := range s.must(t, "LRANGE", name, 0, -1).([]any) {
			parts = append(parts, e.(string))
		}
	case "zset":
		for _, e := range s.must(t, "ZRANGE", name, 0, -1, "WITHSCORES").([]any) {
			parts = append(parts, fmt.Sprint(e))
		}
	case "hash":
		switch pairs := s.must(t, "HGETALL", name).(type) {
		case []any:
			for _, e := range pairs {
				parts = append(parts, e.(string))
			}
		case map[any]any:
			for field, value := range pairs {
				parts = append(parts, field.(string), value.(string))
			}
		}
	}
	return strings.Join(parts, ",")
}

// dump is what the server holds, byte for byte.
func (s fuzzServer) dump(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range s.must(t, "KEYS", "*").([]any) {
		var value any
		switch s.must(t, "TYPE", name) {
		case "string":
			value = s.must(t, "GET", name)
		case "list":
			value = s.must(t, "LRANGE", name, 0, -1)
		case "zset":
			value = s.must(t, "ZRANGE", name, 0, -1, "WITHSCORES")
		case "hash":
			value = s.must(t, "HGETALL", name)
		}
		fmt.Fprintf(&b, "%q %q %v\n", name, fmt.Sprint(value), s.must(t, "PEXPIRETIME", name))
	}
	return b.String()
}
