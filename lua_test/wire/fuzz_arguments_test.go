package wire_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

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
