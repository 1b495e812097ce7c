package luatest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// FuzzState calls any function with legal arguments on keys that hold anything: no reply is an error of Lua, and a refused
// call leaves the key's bytes. What is stored is a text, or the elements of a list, or members and scores.
func FuzzState(f *testing.F) {
	now := luatest.Start.UnixMicro()
	for i := range fuzzedFunctions {
		for kind := range byte(3) {
			for _, bad := range append(strange, "ttl", "1763706467123584 3/7", "5 9/3", "5 0/0", "ttl x", "1763706467123584,x,1763706467123585", "r1,5,r2,inf,r1,-inf") {
				f.Add(byte(i), kind, bad, int64(60_000), int64(0))
			}
			f.Add(byte(i), kind, "ttl", int64(0), int64(0))
			f.Add(byte(i), kind, "1763706467123584", int64(0), -now)
			f.Add(byte(i), kind, "1763706467123584", int64(1), now)
		}
	}
	s := newFuzzServer(f)
	f.Fuzz(func(t *testing.T, which, kind byte, stored string, ttlMS, clockUS int64) {
		fn := fuzzedFunctions[int(which)%len(fuzzedFunctions)]
		s.clock.Set(luatest.Start.Add(time.Duration(clockUS%(50*365*24*3600_000_000)) * time.Microsecond))
		s.must(t, "FLUSHDB")
		for _, k := range fn.keys {
			suffix, _, _ := strings.Cut(k, " ")
			name := key("u1", suffix)
			words, parts := []any(nil), strings.Split(stored, ",")
			switch kind % 3 {
			case 0:
				words = []any{"SET", name, stored}
			case 1:
				words = []any{"RPUSH", name}
				for _, p := range parts {
					words = append(words, p)
				}
			case 2:
				words = []any{"ZADD", name}
				for i := 0; i+1 < len(parts); i += 2 {
					words = append(words, parts[i+1], parts[i])
				}
			}
			if _, err := s.do(words...); err != nil {
				continue // not a score: no key
			}
			if ttlMS > 0 {
				s.must(t, "PEXPIRE", name, ttlMS%(1<<40)+1)
			}
		}
		before := s.dump(t)
		if err := s.call(t, fn, fn.fullKeys(), fn.args); err != nil && before != s.dump(t) {
			t.Fatalf("%s was refused (%v) and changed what was stored", fn.name, err)
		}
	})
}

// dump is what the server holds, as text.
func (s fuzzServer) dump(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range s.must(t, "KEYS", "*").([]any) {
		var value any
		switch kind := s.must(t, "TYPE", name); kind {
		case "string":
			value = s.must(t, "GET", name)
		case "list":
			value = s.must(t, "LRANGE", name, 0, -1)
		case "zset":
			value = s.must(t, "ZRANGE", name, 0, -1, "WITHSCORES")
		default:
			t.Fatalf("%s is a %v", name, kind)
		}
		b.WriteString(strings.Join([]string{name.(string), fmt.Sprint(value), fmt.Sprint(s.must(t, "PEXPIRETIME", name))}, " "))
	}
	return b.String()
}
