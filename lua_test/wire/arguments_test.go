package wire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/embedded"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// noNumbers are texts that no number is written as.
var noNumbers = []string{
	"nan", "NaN", "-nan", "inf", "-inf", "INF", "infinity", "1e3", "1E3", "1e309", "0x10", "0X1F", "0b1", "-0", "-1", "+5",
	" ", " 1", "1 ", "\t1", "1\n", "1\r\n", "5\x00", "\x005", "\x00", "007", "00", "1.0", "1.5", ".5", "5.", "1,000", "1_000",
	"one", "true", "\xff", "\xd9\xa1", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808",
	"18446744073709551616", "99999999999999999999", mebibyte,
}

var mebibyte = strings.Repeat("1", 1<<20)

// refused lists texts that are not legal for the argument.
func (s wireSlot) refused() (bad []string) {
	f := s.field
	switch f.Kind {
	case spec.KindText:
		bad = []string{strings.Repeat("r", int(f.Max)+1), mebibyte}
		if f.Min > 1 {
			bad = append(bad, strings.Repeat("r", int(f.Min)-1))
		}
	case spec.KindBool:
		bad = append(slices.Clone(noNumbers), "2", "01", "yes")
	case spec.KindEnum:
		bad = append(slices.Clone(noNumbers), "0", "1", "x")
		for _, v := range f.Values {
			bad = append(bad, strings.ToUpper(v), v+" ", " "+v, v+"\x00", v[:len(v)-1])
		}
	case spec.KindGroup:
		least := "a" + strings.Repeat(",1", len(f.Fields)-1) + ";"
		bad = append(slices.Clone(noNumbers), "x", "a,b", "a,gcra,1,1", ";", ",;", "a,b;;", strings.Repeat(";", 1<<20), strings.Repeat(",", 1<<20)+";", strings.Repeat(least, 1000))
		if f.Min == 0 {
			return bad
		}
	default:
		bad = append(slices.DeleteFunc(slices.Clone(noNumbers), func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			return err == nil && strconv.FormatInt(n, 10) == text && f.Min <= n && n <= f.Max
		}), strconv.FormatInt(f.Max+1, 10), strconv.FormatInt(f.Min-1, 10))
	}
	if !f.Optional && f.Default == nil && (f.Kind != spec.KindText || f.Min > 0) {
		bad = append(bad, "")
	}
	return bad
}

// accepted lists texts that the argument may be.
func (s wireSlot) accepted() (good []string) {
	f := s.field
	switch f.Kind {
	case spec.KindGroup: // its rows are in the call, and their keys
		if f.Min == 0 && len(f.Keys()) == 0 {
			good = []string{""}
		}
	case spec.KindText:
		long := strings.Repeat("r", int(f.Max))
		good = []string{long, long[:max(f.Min, 1)]}
		for _, text := range []string{"\x00", "\r\n", "\xff", "{", "nan", " "} {
			good = append(good, strings.Repeat(text, int(max(f.Min, 1))))
		}
	case spec.KindBool:
		good = []string{"0", "1"}
	case spec.KindEnum:
		good = f.Values
	default:
		good = []string{strconv.FormatInt(f.Min, 10), strconv.FormatInt(f.Max, 10)}
	}
	if f.Optional || f.Default != nil {
		good = append(good, "")
	}
	return good
}

// A wireTry is what a server answers to a call with other keys or arguments.
type wireTry struct {
	what string // of a failure
	cmd  *redis.Cmd
	want func(text string) bool
}

// pipeline sends the tries that queue makes, and holds the answers against what is wanted.
func pipeline(t *testing.T, s *luatest.Server, queue func(pipe redis.Pipeliner) []wireTry) {
	t.Helper()
	pipe := s.Redis.Pipeline()
	tries := queue(pipe)
	_, _ = pipe.Exec(t.Context()) // each command has its own error
	for _, try := range tries {
		text := ""
		if err := try.cmd.Err(); err != nil {
			text = err.Error()
		}
		if !try.want(text) {
			t.Errorf("%s: %q", try.what, text)
		}
	}
}

func one(want string) func(string) bool { return func(text string) bool { return text == want } }

func beginning(want string) func(string) bool {
	return func(text string) bool { return strings.HasPrefix(text, want) }
}

// eachWireCall runs a test of each function of each library on each engine.
func eachWireCall(t *testing.T, test func(t *testing.T, s *luatest.Server, w wireCall, f spec.Function)) {
	all := contract(t)
	for _, lib := range wireLibraries {
		t.Run(lib.library.Name, func(t *testing.T) {
			lib.each(t, func(t *testing.T, s *luatest.Server) {
				for _, w := range wireCalls {
					if strings.HasPrefix(w.name, lib.library.ServerName+"_") {
						s.Do(t, "FLUSHDB")
						test(t, s, w, all[w.name])
					}
				}
			})
		})
	}
}

func TestArguments_outOfBoundsAreRefusedByTheServerToo(t *testing.T) {
	tried := 0
	eachWireCall(t, func(t *testing.T, s *luatest.Server, w wireCall, f spec.Function) {
		slots, _ := w.slots(t, f)
		pipeline(t, s, func(pipe redis.Pipeliner) (tries []wireTry) {
			try := func(what string, keys, args []string, want func(string) bool) {
				tries = append(tries, wireTry{w.name + " " + what, pipe.Do(t.Context(), w.words(keys, args)...), want})
			}
			for _, slot := range slots {
				for _, bad := range slot.refused() {
					try(slot.name+"="+strconv.Quote(bad[:min(len(bad), 40)]), w.keys, slot.with(w.args, bad), slot.refusal(bad))
				}
				if rows := w.args[slot.arg]; slot.cell == nil && slot.field.Kind == spec.KindGroup {
					first := rows[:strings.Index(rows, ";")+1]
					try(slot.name+" with too many rows", w.keys, slot.with(w.args, strings.Repeat(first, int(slot.field.Max)+1)), func(text string) bool {
						return text == "RLARG "+slot.must() || strings.Contains(text, " must differ from those of the other rows")
					})
				}
			}
			arity := beginning("RLARG " + f.Name + " must be called with ")
			least, most, tooMany := len(w.keys), len(w.keys), arity
			if keys := f.Keys(); len(keys) > 0 && keys[len(keys)-1].Several { // the call has one of them
				last := keys[len(keys)-1]
				least, most = least-1, most-1+int(last.Max)
				tooMany = one(fmt.Sprintf("RLARG %s must be at most %d keys", last.Name, last.Max))
			}
			for n := range least {
				try(strconv.Itoa(n)+" keys", w.keys[:n], w.args, arity)
			}
			more := append(slices.Clone(w.keys), slices.Repeat([]string{"x"}, most+2-len(w.keys))...)
			for n := most + 1; n <= most+2; n++ {
				try(strconv.Itoa(n)+" keys", more[:n], w.args, tooMany)
			}
			for n := range len(w.args) - f.Omissible() {
				try(strconv.Itoa(n)+" arguments", w.keys, w.args[:n], beginning("RLARG "))
			}
			try("an argument more", w.keys, append(slices.Clone(w.args), "1"), arity)
			try("300 arguments more", w.keys, append(slices.Clone(w.args), make([]string, 300)...), arity)
			tried += len(tries)
			return tries
		})
		if keys, err := s.Snapshot(t.Context()); err != nil || len(keys) > 0 {
			t.Errorf("refused calls of %s wrote %v %v", w.name, keys, err)
		}
	})
	t.Logf("%d calls refused", tried)
}

// Each argument alone at its bounds, and those at the end left out: the call is taken, or another argument's is the refusal, as a cost above the limit.
func TestArguments_atTheirBoundsAreTaken(t *testing.T) {
	eachWireCall(t, func(t *testing.T, s *luatest.Server, w wireCall, f spec.Function) {
		slots, keys := w.slots(t, f)
		pipeline(t, s, func(pipe redis.Pipeliner) (tries []wireTry) {
			for n := len(w.args) - f.Omissible(); n < len(w.args); n++ {
				args := w.args[:n]
				pipe.FlushDB(t.Context())
				tries = append(tries, wireTry{w.name + " with " + strconv.Itoa(n) + " arguments", pipe.Do(t.Context(), w.words(w.keysFor(keys, args), args)...), func(text string) bool {
					return text == "" || contradicts(f, text)
				}})
			}
			for _, slot := range slots {
				for _, good := range slot.accepted() {
					args := slot.with(w.args, good)
					pipe.FlushDB(t.Context())
					tries = append(tries, wireTry{w.name + " " + slot.name + "=" + strconv.Quote(good), pipe.Do(t.Context(), w.words(w.keysFor(keys, args), args)...), func(text string) bool {
						return text == "" || contradicts(f, text) && (slot.field.Kind != spec.KindText || good == "")
					}})
				}
			}
			return tries
		})
	})
}

// contradicts reports whether a refusal is of an argument that is legal alone: by a rule of the header, or by what Lua still asks of a packed
// row and the rest of the call.
func contradicts(f spec.Function, text string) bool {
	left := []string{" must be after the server's time", " must be at most the server's time", "kind must not be concurrency without a holder", " must be above now"}
	for _, what := range []string{"limit", "burst", "limit and 1000 in a concurrency"} {
		left = append(left, "cost must be at most "+what+": it can never be allowed")
	}
	return strings.HasPrefix(text, "RLARG ") && (slices.ContainsFunc(f.Rules, func(r spec.Rule) bool { return strings.HasSuffix(text, r.Asked()) }) ||
		slices.ContainsFunc(left, func(part string) bool { return strings.Contains(text, part) }))
}

// strange are texts that a number or a name might be, and is not.
var strange = []string{
	"NaN", "nan", "-nan", "inf", "-inf", "1e309", "1e3", "0x10", "-0", "0", "-1", "1", "", " 1", "1 ", "\x00", "5\x00", "\xff\xfe",
	"a\r\nb", "9007199254740992", "9007199254740993", "315360000000000", "1000000", "1000001", "1.5", "007", "+5",
	strings.Repeat("9", 400), strings.Repeat("r", 256), strings.Repeat("r", 257), strings.Repeat("x", 70_000),
}

// canned answers every call with one reply.
type canned struct{ reply any }

func (c canned) Process(_ context.Context, cmd redis.Cmder) error {
	cmd.Args()
	cmd.(interface{ SetVal(any) }).SetVal(c.reply)
	return nil
}

// A fuzzServer is an embedded server with every library and a clock that stands.
type fuzzServer struct {
	*embedded.Server
	clock *embedded.ManualClock
}

func newFuzzServer(f testing.TB) fuzzServer {
	f.Helper()
	clock := embedded.NewManualClock(luatest.Start)
	s := fuzzServer{embedded.New(embedded.Options{Clock: clock}), clock}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	for _, lib := range wireLibraries {
		s.must(f, "FUNCTION", "LOAD", lib.library.Code)
	}
	return s
}

func (s fuzzServer) do(args ...any) (any, error) {
	cmd := redis.NewCmd(context.Background(), args...)
	_ = s.Process(context.Background(), cmd)
	return cmd.Result()
}

func (s fuzzServer) must(t testing.TB, args ...any) any {
	t.Helper()
	reply, err := s.do(args...)
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("%v: %v", args[0], err)
	}
	return reply
}

// call calls a function and holds the reply against what may come: RLARG, RLSTATE, or what the client's decoder takes.
func (s fuzzServer) call(t *testing.T, w wireCall, keys []string, args []string) (err error) {
	t.Helper()
	reply, err := s.do(w.words(keys, args)...)
	if err != nil {
		text := err.Error()
		if !strings.HasPrefix(text, "RLARG ") && !strings.HasPrefix(text, "RLSTATE ") {
			t.Fatalf("%s %q answers %q", w.name, args, text)
		}
		if strings.ContainsAny(text, "\r\n\x00") || len(text) > 600 {
			t.Fatalf("%s %q answers with a text that is not one line: %q", w.name, args, text)
		}
		return err
	}
	if err := w.decode(t.Context(), canned{reply}); err != nil {
		t.Fatalf("%s %q answers %#v: %v", w.name, args, reply, err)
	}
	return nil
}

// FuzzArguments calls any function with two of its arguments, and perhaps the number of its keys or arguments, replaced by
// anything. No reply is an error of Lua, a refused call has written nothing, and no key stays without an expiry.
func FuzzArguments(f *testing.F) {
	for i, w := range wireCalls {
		for at := range w.args {
			for _, text := range strange {
				f.Add(byte(i), byte(at), text, byte(at+1), w.args[(at+1)%len(w.args)], int8(0), int8(0))
			}
		}
		for _, n := range []int8{-1, 1} {
			f.Add(byte(i), byte(0), "1", byte(0), "1", n, int8(0))
			f.Add(byte(i), byte(0), "1", byte(0), "1", int8(0), n)
			f.Add(byte(i), byte(0), "1", byte(0), "1", n, n)
		}
	}
	s := newFuzzServer(f)
	f.Fuzz(func(t *testing.T, which, at byte, text string, at2 byte, text2 string, moreKeys, moreArgs int8) {
		w := wireCalls[int(which)%len(wireCalls)]
		keys, args := slices.Clone(w.keys), slices.Clone(w.args)
		if len(args) > 0 {
			args[int(at)%len(args)] = text
			args[int(at2)%len(args)] = text2
		}
		keys, args = resized(keys, int(moreKeys), "x"), resized(args, int(moreArgs), text)
		s.must(t, "FLUSHDB")
		// Twice: the second call meets what the first one wrote.
		for range 2 {
			before := s.dump(t)
			if err := s.call(t, w, keys, args); err != nil && before != s.dump(t) {
				t.Fatalf("%s %q was refused (%v) and wrote", w.name, args, err)
			}
		}
		for _, name := range s.must(t, "KEYS", "*").([]any) {
			if left := s.must(t, "PTTL", name); left.(int64) < 0 {
				t.Fatalf("%s %q: %s has no expiry", w.name, args, name)
			}
		}
	})
}

// resized returns a list with more elements, or fewer.
func resized(list []string, more int, with string) []string {
	for ; more > 0; more-- {
		list = append(list, with)
	}
	return list[:max(len(list)+more, 0)]
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
