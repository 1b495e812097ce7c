package fcall_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// An answer is a Caller whose reply is always the same value.
type answer struct{ val any }

func (a answer) Process(_ context.Context, cmd redis.Cmder) error {
	_ = cmd.Args()
	cmd.(interface{ SetVal(any) }).SetVal(a.val)
	return nil
}

// answered holds the results that decode reads.
var answered = []fcall.Result{{Values: 2}, {}, {}, {}, {}, {Text: true}, {Values: 3}, {Rows: []fcall.Result{{Values: 2}, {}, {Text: true}}}}

func reply(t testing.TB, val any) (*fcall.Reply, error) {
	t.Helper()
	c, err := fcall.NewClient(answer{val}, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fn := countFunction("hit")
	fn.Results = answered
	return c.Call(context.Background(), fn, nil, nil)
}

type decoded struct {
	Allowed bool
	Count   int64
	Price   fcall.Micros
	Wait    time.Duration
	At      time.Time
	Name    string
	Reason  string
	Rows    []row
}

type row struct {
	Allowed bool
	Left    int64
	Note    string
}

func decode(r *fcall.Reply, err error) (decoded, error) {
	if err != nil {
		return decoded{}, err
	}
	out := decoded{
		Allowed: r.Bool("allowed"),
		Count:   r.Count("count"),
		Price:   fcall.Micros(r.Count("price")),
		Wait:    r.Duration("wait"),
		At:      r.Time("at"),
		Name:    r.Text("name"),
		Reason:  r.Enum("reason", "none", "blocked"),
	}
	if n := r.Rows("rows"); n > 0 {
		out.Rows = make([]row, n)
		for i := range out.Rows {
			r.Row(i)
			out.Rows[i] = row{Allowed: r.Bool("allowed"), Left: r.Count("left"), Note: r.Text("note")}
		}
	}
	r.EndRows()
	if err := r.Close(); err != nil {
		return decoded{}, err
	}
	return out, nil
}

// good is allowed, blocked, with three rows: the small results are 1 + 1*2, and the others follow, the number of rows first.
func good() []any {
	return []any{
		int64(-1 - 4*3), int64(3), int64(3), int64(7), int64(5_987_654), int64(1_700_000_000_000_001), "n\r\n",
		int64(1 + 2*4), "a", int64(0), "", int64(1 + 2*5), "c",
	}
}

func TestReply_decodes(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_001)
	rows := []row{{true, 4, "a"}, {false, 0, ""}, {true, 5, "c"}}
	whole := decoded{Allowed: true, Count: 3, Price: 7, Wait: 5_987_654 * time.Microsecond, At: at, Name: "n\r\n", Reason: "blocked", Rows: rows}
	for _, s := range []struct {
		name string
		val  any
		want decoded
	}{
		{"all of it", good(), whole},
		{"without the last text", good()[:12], func() decoded { d := whole; d.Rows = []row{{true, 4, "a"}, {false, 0, ""}, {true, 5, ""}}; return d }()},
		{"rows alone", []any{int64(3 + 6*3), "", int64(9), "a", int64(0), "", int64(11), "c"}, decoded{Allowed: true, Reason: "blocked", Rows: rows}},
		{"a row in thousands", []any{int64(6), "", int64(-2 - 4*(1+2*5))}, decoded{Reason: "none", Rows: []row{{true, 5000, ""}}}},
		{"a row in a list", []any{int64(6), "", int64(-1 - 4*1), int64(1 << 53), "a"}, decoded{Reason: "none", Rows: []row{{true, 1 << 53, "a"}}}},
		{"rows of zeros", int64(18), decoded{Reason: "none", Rows: make([]row, 3)}},
		{"no rows", []any{int64(-1), int64(0), int64(9)}, decoded{Reason: "none", Count: 9}},
		{"one number", int64(1), decoded{Allowed: true, Reason: "none"}},
		{"a text alone", []any{int64(0), "a"}, decoded{Reason: "none", Name: "a"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			got, err := decode(reply(t, s.val))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A record of small results and two numbers is one number in three ways, or a list.
func TestReply_oneNumberHoldsResults(t *testing.T) {
	for _, s := range []struct {
		val              any
		allowed          bool
		left             int64
		reset, retryback time.Duration
	}{
		{int64(1 + 2*7), true, 7, 0, 0},
		{int64(1 + 2*7 + 20*60_000_000), true, 7, time.Minute, 0},
		{int64(-2 - 4*(1+2*7+20*60_000)), true, 7, time.Minute, 0},
		{[]any{int64(-1 - 4*(1+2*7)), int64(1 << 53)}, true, 7, 1 << 53 * time.Microsecond, 0},
		{[]any{int64(-1), int64(60_000_000), int64(1)}, false, 0, time.Minute, time.Microsecond},
		{int64(-3 - 4*(2*4) - 60_000<<7 - 36_000<<30), false, 4, time.Minute, 36 * time.Second},
		{int64(-3 - 4*1 - (1<<23-1)<<7 - 1<<30), true, 0, (1<<23 - 1) * time.Millisecond, time.Millisecond},
	} {
		fn := countFunction("hit")
		fn.Results = []fcall.Result{{Values: 2}, {Values: 10}, {}, {}}
		r := answerOf(t, fn, s.val)
		if a, l, x, y := r.Bool("allowed"), r.Count("left"), r.Duration("reset"), r.Duration("retry"); a != s.allowed || l != s.left || x != s.reset || y != s.retryback || r.Close() != nil {
			t.Errorf("%v is read as %v %v %v %v, %v", s.val, a, l, x, y, r.Close())
		}
	}
}

// With groups and no text outside, a number below 0 is the one row of the first group: the first result is 1, all others are zero.
func TestReply_oneNumberHoldsARow(t *testing.T) {
	for _, s := range []struct {
		val     any
		rows    int
		left    int64
		allowed bool
	}{
		{int64(-2 - 4*(1+2*5)), 1, 5000, true},
		{int64(-2), 1, 0, false},
		{int64(1), 0, 0, false},
	} {
		fn := countFunction("hit")
		fn.Results = []fcall.Result{{Values: 3}, {}, {Rows: []fcall.Result{{Values: 2}, {}}}, {Rows: []fcall.Result{{}}}}
		r := answerOf(t, fn, s.val)
		if e, n := r.Enum("reason", "a", "b", "c"), r.Count("n"); e != "b" || n != 0 {
			t.Errorf("%v: %s, %d", s.val, e, n)
		}
		if rows := r.Rows("rows"); rows != s.rows {
			t.Errorf("%v: %d rows", s.val, rows)
		} else if rows > 0 {
			if a, l := r.Bool("allowed"), r.Count("left"); a != s.allowed || l != s.left {
				t.Errorf("%v: %t %d", s.val, a, l)
			}
		}
		if r.Rows("others") != 0 || r.Close() != nil {
			t.Errorf("%v: %v", s.val, r.Close())
		}
	}
}

// A count that may be a million million shares the number while it is below 2^20, above the other small results.
func TestReply_wideCount(t *testing.T) {
	for _, s := range []struct {
		val    any
		left   int64
		reason string
		reset  time.Duration
	}{
		{int64(2 + 3*(1<<20-1)), 1<<20 - 1, "c", 0},
		{int64(2 + 3*7 + 3<<20*36_000), 7, "c", 36 * time.Millisecond},
		{int64(-2 - 4*(2+3*7+3<<20*36_000)), 7, "c", 36 * time.Second},
		{[]any{int64(-1 - 4*2), int64(1_000_000_000_000), int64(5)}, 1_000_000_000_000, "c", 5 * time.Microsecond},
	} {
		fn := countFunction("hit")
		fn.Results = []fcall.Result{{Values: 1 << 20}, {Values: 3}, {}}
		r := answerOf(t, fn, s.val)
		if l, e, x := r.Count("left"), r.Enum("reason", "a", "b", "c"), r.Duration("reset"); l != s.left || e != s.reason || x != s.reset || r.Close() != nil {
			t.Errorf("%v is read as %v %v %v, %v", s.val, l, e, x, r.Close())
		}
	}
}

func answerOf(t *testing.T, fn *fcall.Function, val any) *fcall.Reply {
	t.Helper()
	c, err := fcall.NewClient(answer{val}, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Call(t.Context(), fn, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReply_problems(t *testing.T) {
	with := func(i int, v any) []any {
		vals := good()
		vals[i] = v
		return vals
	}
	const number = " must be a whole number from 0 to 9007199254740992, got "
	const head = " must be a whole number from -9007199254740992 to 9007199254740992, got "
	steps := []struct {
		name string
		val  any
		want string
	}{
		{"text", "OK", "the reply must be an array or a whole number, got text of 2 bytes"},
		{"a double alone", 3.5, "the reply must be an array or a whole number, got a float64"},
		{"too many", append(good(), int64(1)), "the reply must have at most 13 elements, got 14"},
		{"a head of true", with(0, true), "element 1" + head + "a bool"},
		{"a head of another kind", with(0, int64(-4)), "element 1 must be the number of a record, got -4"},
		{"a number below that of any record", int64(-fcall.MaxInt - 1), "element 1" + head + "-9007199254740993"},
		{"a number of thousands above 2^53", with(11, int64(-2-4*(fcall.MaxInt/4-1))), "rows.2.left must be a whole number from 0 to 9007199254740992, got 1125899906842623000"},
		{"a place that no value has", with(0, int64(-1-4*5)), "reason must be one of none, blocked, got number 2"},
		{"a number above its digits", with(0, int64(-1-4*6)), "element 1 must have nothing above its digits, got -25"},
		{"a row with two more numbers", with(7, int64(-3-1<<30)), "element 8 must have nothing above its digits, got -1073741827"},
		{"a count as text", with(2, "3"), "element 3" + number + "text of 1 bytes"},
		{"a negative count", with(2, int64(-1)), "element 3" + number + "-1"},
		{"a count above 2^53", with(2, int64(fcall.MaxInt+1)), "element 3" + number + "9007199254740993"},
		{"a double", with(2, 3.5), "element 3" + number + "a float64"},
		{"nothing", with(2, nil), "element 3" + number + "nothing"},
		{"an array", with(2, []any{int64(1)}), "element 3" + number + "an array of 1 elements"},
		{"a nested error", with(2, errors.New("RLARG hidden\r\n")), "element 3" + number + `the error "RLARG hidden\r\n"`},
		{"a nested error for text", with(6, errors.New("ERR x")), `element 7 must be text, got the error "ERR x"`},
		{"a duration above 2^53", with(4, int64(math.MaxInt64)), "element 5" + number + "9223372036854775807"},
		{"a number as text", with(6, int64(1)), "element 7 must be text, got 1"},
		{"more rows than any reply has", []any{int64(1) << 53}, "element 1 must have at most 65536 rows, got 1501199875790165"},
		{"in a row", with(9, "x"), "element 10" + head + "text of 1 bytes"},
		{"in a row's text", with(8, int64(1)), "element 9 must be text, got 1"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			got, err := decode(reply(t, s.val))
			want := "fcalltest.hit: " + s.want + "; the server's library may differ from the one that this client was generated from"
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(decoded{}, got); diff != "" {
				t.Errorf("result (-want +got)\n%s", diff)
			}
			var one *fcall.ReplyError
			if !errors.Is(err, fcall.ErrReply) || !errors.As(err, &one) {
				t.Errorf("%T is not an ErrReply with a *ReplyError", err)
			}
		})
	}
}

func TestReply_signedNumbers(t *testing.T) {
	read := func(text string) (int64, float64, error, error) {
		one := func() *fcall.Reply {
			c, err := fcall.NewClient(answer{[]any{int64(0), text}}, countLibrary, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			fn := countFunction("hit")
			fn.Results = []fcall.Result{{Text: true}}
			r, err := c.Call(context.Background(), fn, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		n, v := one(), one()
		whole, number := n.Signed("delta"), v.Float("score")
		return whole, number, n.Close(), v.Close()
	}
	for text, want := range map[string]struct {
		whole  int64
		number float64
		isInt  bool
		is     bool
	}{
		"": {0, 0, true, true}, "-1": {-1, -1, true, true}, "9007199254740991": {1<<53 - 1, 1<<53 - 1, true, true}, "9007199254740992": {0, 1 << 53, false, true},
		"-9007199254740992": {0, -1 << 53, false, true}, "1.7976931348623157e+308": {0, math.MaxFloat64, false, true}, "0": {0, 0, false, true}, "-0.1": {0, -0.1, false, true}, "1e-07": {0, 1e-7, false, true}, "+1": {}, "01": {0, 1, false, true},
		"nan": {}, "-inf": {}, "0x1p-2": {}, "1_0": {}, " 1": {}, "1e400": {},
	} {
		whole, number, notInt, notNumber := read(text)
		if whole != want.whole || number != want.number || (notInt == nil) != want.isInt || (notNumber == nil) != want.is {
			t.Errorf("%q: got %d (%v) and %v (%v), want %+v", text, whole, notInt, number, notNumber, want)
		}
	}
}

func TestReply_keepsTheFirstProblem(t *testing.T) {
	r, err := reply(t, []any{int64(0)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Text("name") != "" || r.Text("second") != "" || r.Err() == nil {
		t.Error("a text that is not there is read")
	}
	if r.Bool("second") || r.Count("n") != 0 || r.Enum("e", "a") != "" || r.Rows("rows") != 0 ||
		r.Duration("d") != 0 || !r.Time("at").IsZero() {
		t.Error("a method after a problem returned more than a zero")
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "second must be") || !errors.Is(r.Err(), fcall.ErrReply) {
		t.Errorf("Close is %v, want the first problem", err)
	}
	if r, err = reply(t, []any{int64(0)}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "read to its end") {
		t.Errorf("Close with unread results is %v", err)
	}
}

// FuzzReply decodes any reply. Decode must not panic, and accepted results must have legal values.
func FuzzReply(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5})
	f.Add([]byte(strings.Repeat("\x00\x01\x00\x00\x00\x00\x00\x00\x00", 14)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(reply(t, anyValues(data)))
		if err != nil {
			if !errors.Is(err, fcall.ErrReply) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("error is %v", err)
			}
			return
		}
		if got.Count < 0 || got.Price < 0 || got.Wait < 0 {
			t.Errorf("accepted %+v", got)
		}
	})
}

// anyValues returns elements of every type that go-redis may return.
func anyValues(data []byte) []any {
	var vals []any
	for len(data) > 0 {
		kind := data[0]
		data = data[1:]
		var word [8]byte
		n := copy(word[:], data)
		switch kind % 8 {
		case 0, 1:
			vals = append(vals, int64(binary.LittleEndian.Uint64(word[:])))
			data = data[n:]
		case 2:
			n := min(int(word[0]), len(data))
			vals = append(vals, string(data[:n]))
			data = data[n:]
		case 3:
			vals = append(vals, []string{"none", "blocked", ""}[int(word[0])%3])
		case 4:
			vals = append(vals, nil)
		case 5:
			vals = append(vals, errors.New(string(data)))
		case 6:
			vals = append(vals, []any{int64(1), nil})
		case 7:
			vals = append(vals, math.NaN(), true)
		}
	}
	return vals
}
