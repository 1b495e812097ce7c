package wire_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
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

// State that the functions stored, of which one number is another or one element is missing, gives RLSTATE or a reply that the
// client decodes, never an error of Lua. Histories begin with their own seeds, so a failure names the one to repeat.
func TestState_mutatedIsAnswered(t *testing.T) {
	histories := 4000
	if testing.Short() {
		histories = 800
	}
	s := newFuzzServer(t)
	for seed := range uint64(histories) {
		r := rand.New(rand.NewPCG(seed, 0))
		s.must(t, "FLUSHDB")
		now := luatest.Start
		library, _, _ := strings.Cut(wireCalls[r.IntN(len(wireCalls))].name, "_")
		calls := slices.DeleteFunc(slices.Clone(wireCalls), func(w wireCall) bool {
			return !strings.HasPrefix(w.name, library+"_") || strings.HasSuffix(w.name, "reset")
		})
		for range 3 + r.IntN(20) {
			now = now.Add(time.Duration(r.Int64N(400_000)) * time.Microsecond)
			s.clock.Set(now)
			w := varied(r, calls[r.IntN(len(calls))])
			_, _ = s.do(w.words(w.keys, w.args)...) // may be refused
		}
		keys := s.must(t, "KEYS", "*").([]any)
		if len(keys) == 0 {
			continue
		}
		slices.SortFunc(keys, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		name := keys[r.IntN(len(keys))].(string)
		was := s.text(t, name)
		s.mutate(t, r, name)
		became := s.text(t, name)
		for range 12 {
			w := varied(r, calls[r.IntN(len(calls))])
			reply, err := s.do(w.words(w.keys, w.args)...)
			switch {
			case err == nil:
				err = w.decode(t.Context(), canned{reply})
			case strings.HasPrefix(err.Error(), "RLARG "), strings.HasPrefix(err.Error(), "RLSTATE "):
				err = nil
			}
			if err != nil {
				t.Errorf("history %d: %s was %q and became %q: %s %q answers %v", seed, name, was, became, w.name, w.args, err)
				break
			}
		}
	}
}

// varied returns a call with another receipt and smaller limits.
func varied(r *rand.Rand, w wireCall) wireCall {
	w.args = slices.Clone(w.args)
	for i, arg := range w.args {
		switch arg {
		case "r1", "h1", "t1", "i1":
			w.args[i] = fmt.Sprint(arg[:1], r.IntN(6))
		case "5":
			w.args[i] = fmt.Sprint(1 + r.IntN(5))
		}
	}
	return w
}

var wholeNumber = regexp.MustCompile(`\d+`)

// mutate changes one value of a key, and keeps its expiry.
func (s fuzzServer) mutate(t *testing.T, r *rand.Rand, name string) {
	t.Helper()
	parts := strings.Split(s.text(t, name), ",")
	kind := s.must(t, "TYPE", name).(string)
	i := r.IntN(len(parts))
	switch kind {
	case "string":
		s.must(t, "SET", name, mutated(r, s.must(t, "GET", name).(string)), "KEEPTTL")
	case "list":
		s.must(t, "LSET", name, i, mutated(r, parts[i]))
	case "zset":
		members := s.must(t, "ZRANGE", name, 0, -1).([]any)
		member := members[r.IntN(len(members))]
		score := fmt.Sprint(s.must(t, "ZSCORE", name, member))
		if number, err := strconv.ParseFloat(mutated(r, score), 64); err == nil {
			s.must(t, "ZADD", name, number, member)
		} else {
			s.must(t, "ZREM", name, member)
		}
	case "hash":
		fields := s.must(t, "HKEYS", name).([]any)
		slices.SortFunc(fields, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		field := fields[r.IntN(len(fields))]
		if r.IntN(4) == 0 && len(fields) > 1 {
			s.must(t, "HDEL", name, field)
			return
		}
		s.must(t, "HSET", name, field, mutated(r, s.must(t, "HGET", name, field).(string)))
	}
}

// mutated returns a text with another number, or with a byte less.
func mutated(r *rand.Rand, text string) string {
	numbers := wholeNumber.FindAllStringIndex(text, -1)
	if len(numbers) == 0 || r.IntN(20) == 0 {
		return text[:max(len(text)-1, 0)]
	}
	at := numbers[r.IntN(len(numbers))]
	n, _ := strconv.ParseInt(text[at[0]:at[1]], 10, 64)
	others := []int64{0, 1, n + 1, max(n-1, 0), 2 * n, n / 2, n + r.Int64N(3_000_000), max(n-r.Int64N(3_000_000), 0), 1<<53 - 1, 1 << 53}
	return text[:at[0]] + strconv.FormatInt(others[r.IntN(len(others))], 10) + text[at[1]:]
}
