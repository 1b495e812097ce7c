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
