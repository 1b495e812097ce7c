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

func reply(t testing.TB, vals ...any) *fcall.Reply {
	t.Helper()
	c, err := fcall.NewClient(answer{vals}, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if vals == nil {
		c, _ = fcall.NewClient(answer{[]any{}}, countLibrary, fcall.Options{})
	}
	r, err := c.Call(context.Background(), countFunction("hit"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type decoded struct {
	Allowed bool
	Count   int64
	Signed  int64
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
}

func decode(r *fcall.Reply) (decoded, error) {
	out := decoded{
		Allowed: r.Bool("allowed"),
		Count:   r.Count("count"),
		Signed:  r.Int("signed", -5, 5),
		Price:   r.Micros("price"),
		Wait:    r.Duration("wait"),
		At:      r.Time("at"),
		Name:    r.Text("name"),
		Reason:  r.Enum("reason", "none", "blocked"),
	}
	if n := r.Rows("rows", 2); n > 0 {
		out.Rows = make([]row, n)
		for i := range out.Rows {
			r.Row(i)
			out.Rows[i] = row{Allowed: r.Bool("allowed"), Left: r.Count("left")}
		}
	}
	r.EndRows()
	if err := r.Close(); err != nil {
		return decoded{}, err
	}
	return out, nil
}

func good() []any {
	return []any{int64(1), int64(3), int64(-5), int64(7), int64(5_987_654), int64(1_700_000_000_000_001), "n\r\n", "blocked", int64(2), int64(1), int64(4), int64(0), int64(0)}
}

func TestReply_decodes(t *testing.T) {
	got, err := decode(reply(t, good()...))
	if err != nil {
		t.Fatal(err)
	}
	want := decoded{
		Allowed: true, Count: 3, Signed: -5, Price: 7, Wait: 5_987_654 * time.Microsecond, At: time.UnixMicro(1_700_000_000_000_001),
		Name: "n\r\n", Reason: "blocked", Rows: []row{{true, 4}, {false, 0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReply_problems(t *testing.T) {
	with := func(i int, v any) []any {
		vals := good()
		vals[i] = v
		return vals
	}
	steps := []struct {
		name string
		vals []any
		want string
	}{
		{"no elements", nil, "allowed must be element 1, got a reply of 0 elements"},
		{"too few", good()[:12], "rows must be followed by its rows of 2 fields, got 2 rows and 3 elements"},
		{"too few before the rows", good()[:8], "rows must be element 9, got a reply of 8 elements"},
		{"too many", append(good(), int64(1)), "the reply must have 13 elements, got 14"},
		{"a bool of 2", with(0, int64(2)), "allowed must be 0 or 1, got 2"},
		{"a bool of true", with(0, true), "allowed must be a whole number, got a bool"},
		{"a count as text", with(1, "3"), "count must be a whole number, got text of 1 bytes"},
		{"a negative count", with(1, int64(-1)), "count must be a whole number from 0 to 9007199254740992, got -1"},
		{"a count above 2^53", with(1, int64(fcall.MaxInt+1)), "count must be a whole number from 0 to 9007199254740992, got 9007199254740993"},
		{"below its own bounds", with(2, int64(-6)), "signed must be a whole number from -5 to 5, got -6"},
		{"a double", with(1, 3.5), "count must be a whole number, got a float64"},
		{"nothing", with(1, nil), "count must be a whole number, got nothing"},
		{"an array", with(1, []any{int64(1)}), "count must be a whole number, got an array of 1 elements"},
		{"a nested error", with(1, errors.New("RLARG hidden\r\n")), `count must be a whole number, got the error "RLARG hidden\r\n"`},
		{"a nested error for text", with(6, errors.New("ERR x")), `name must be text, got the error "ERR x"`},
		{"a negative duration", with(4, int64(-1)), "wait must be a whole number from 0 to 9007199254740992, got -1"},
		{"a duration above 2^53", with(4, int64(math.MaxInt64)), "wait must be a whole number from 0 to 9007199254740992, got 9223372036854775807"},
		{"text as a number", with(6, int64(1)), "name must be text, got 1"},
		{"an unknown enum", with(7, "tier9"), `reason must be one of none, blocked, got "tier9"`},
		{"negative rows", with(8, int64(-1)), "rows must be a whole number from 0 to 9007199254740992, got -1"},
		{"more rows than elements", with(8, int64(1)<<53), "rows must be followed by its rows of 2 fields, got 9007199254740992 rows and 4 elements"},
		{"fewer rows than elements", with(8, int64(1)), "the reply must have 11 elements, got 13"},
		{"in a row", with(12, "x"), "rows.1.left must be a whole number, got text of 1 bytes"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			got, err := decode(reply(t, s.vals...))
			want := "fcalltest.hit: " + s.want + "; does the server hold the library that this client was generated from?"
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(decoded{}, got); diff != "" {
				t.Errorf("result (-want +got)\n%s", diff)
			}
			var one *fcall.ReplyError
			if !errors.Is(err, fcall.ErrReply) || !errors.As(err, &one) {
				t.Errorf("%T is no ErrReply with a *ReplyError", err)
			}
		})
	}
}

func TestReply_keepsTheFirstProblem(t *testing.T) {
	r := reply(t, "x")
	_ = r.Bool("first")
	if r.Bool("second") || r.Count("n") != 0 || r.Text("t") != "" || r.Enum("e", "a") != "" || r.Rows("rows", 1) != 0 ||
		r.Duration("d") != 0 || r.Micros("m") != 0 || !r.Time("at").IsZero() {
		t.Error("a method after a problem returned more than a zero")
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "first must be") || !errors.Is(r.Err(), fcall.ErrReply) {
		t.Errorf("Close is %v, want the first problem", err)
	}
}

// FuzzReply decodes any reply: it never panics, and what it accepts has legal values.
func FuzzReply(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5})
	f.Add([]byte(strings.Repeat("\x00\x01\x00\x00\x00\x00\x00\x00\x00", 14)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(reply(t, anyValues(data)...))
		if err != nil {
			if !errors.Is(err, fcall.ErrReply) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("error is %v", err)
			}
			return
		}
		if got.Count < 0 || got.Price < 0 || got.Wait < 0 || got.Signed < -5 || got.Signed > 5 {
			t.Errorf("accepted %+v", got)
		}
	})
}

// anyValues makes elements of every type that go-redis may hand over.
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
