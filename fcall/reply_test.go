package fcall_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
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

func reply(t testing.TB, val any) (*fcall.Reply, error) {
	t.Helper()
	c, err := fcall.NewClient(answer{val}, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Call(context.Background(), countFunction("hit"), nil, nil)
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
	Delta   int64
	Score   float64
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
		Count:   r.Int("count"),
		Price:   fcall.Micros(r.Int("price")),
		Wait:    r.Duration("wait"),
		At:      r.Time("at"),
		Name:    r.Text("name"),
		Reason:  r.Text("reason"),
	}
	out.Rows = make([]row, r.Rows("rows"))
	for i := range out.Rows {
		r.Row(i)
		out.Rows[i] = row{Allowed: r.Bool("allowed"), Left: r.Int("left"), Note: r.Text("note")}
	}
	r.EndRows()
	out.Delta, out.Score = r.Int("delta"), r.Float("score")
	if err := r.Err(); err != nil {
		return decoded{}, err
	}
	return out, nil
}

func good() []any {
	return []any{
		int64(1), int64(3), int64(7), int64(5_987_654), int64(1_700_000_000_000_001), "n\r\n", "blocked",
		int64(2), int64(3), int64(1), int64(4), "a", int64(0), int64(0), "",
		int64(-9), "0.1",
	}
}

func with(i int, v any) []any {
	vals := good()
	vals[i] = v
	return vals
}

// rows replaces the group of a good reply.
func rows(words ...any) []any {
	vals := good()
	return slices.Concat(vals[:7], words, vals[15:])
}

func TestReply_decodes(t *testing.T) {
	whole := func() decoded {
		return decoded{
			Allowed: true, Count: 3, Price: 7, Wait: 5_987_654 * time.Microsecond, At: time.UnixMicro(1_700_000_000_000_001), Name: "n\r\n", Reason: "blocked",
			Rows: []row{{true, 4, "a"}, {false, 0, ""}}, Delta: -9, Score: 0.1,
		}
	}
	noRows, noTime := whole(), whole()
	noRows.Rows, noTime.At = []row{}, time.Time{}
	for _, s := range []struct {
		name string
		val  any
		want decoded
	}{
		{"all of it", good(), whole()},
		{"no rows", rows(int64(0)), noRows},
		{"no time", with(4, int64(0)), noTime},
		{"results of a newer library", append(rows(int64(2), int64(4), int64(1), int64(4), "a", "new", int64(0), int64(0), "", "new"), int64(1), int64(0)), whole()},
	} {
		got, err := decode(reply(t, s.val))
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", s.name, diff)
		}
	}
}

// A function with one result answers with that; with more in a newer library, with an array.
func TestReply_ofOneResult(t *testing.T) {
	for _, val := range []any{int64(7), []any{int64(7)}, []any{int64(7), "new"}} {
		r, err := reply(t, val)
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Int("n"); n != 7 || r.Err() != nil {
			t.Errorf("%v is read as %d, %v", val, n, r.Err())
		}
	}
}

func TestReply_problems(t *testing.T) {
	const number = " must be a whole number from -9007199254740992 to 9007199254740992, got "
	for _, s := range []struct {
		name string
		val  any
		want string
	}{
		{"text", "OK", "allowed must be a whole number from 0 to 1, got text of 2 bytes"},
		{"one number", int64(1), "count" + number + "a reply without it"},
		{"short", good()[:16], "score must be text, got a reply without it"},
		{"a bool of 2", with(0, int64(2)), "allowed must be a whole number from 0 to 1, got 2"},
		{"true", with(0, true), "allowed must be a whole number from 0 to 1, got a bool"},
		{"a count as text", with(1, "3"), "count" + number + "text of 1 bytes"},
		{"a count above 2^53", with(1, int64(fcall.MaxInt+1)), "count" + number + "9007199254740993"},
		{"a double", with(1, 3.5), "count" + number + "a float64"},
		{"nothing", with(1, nil), "count" + number + "nothing"},
		{"an array", with(1, []any{int64(1)}), "count" + number + "an array of 1 elements"},
		{"a nested error", with(1, errors.New("RLARG hidden\r\n")), "count" + number + `the error "RLARG hidden\r\n"`},
		{"a negative duration", with(3, int64(-1)), "wait must be a whole number from 0 to 9007199254740992, got -1"},
		{"a number as text", with(5, int64(1)), "name must be text, got 1"},
		{"a word as a number", with(6, int64(1)), "reason must be text, got 1"},
		{"rows that are none", rows("x"), "rows must be a whole number from 0 to 9007199254740992, got text of 1 bytes"},
		{"rows of no fields", rows(int64(1), int64(0)), "rows must be a whole number from 1 to 9007199254740992, got 0"},
		{"more rows than a reply has", rows(int64(1)<<53, int64(3), int64(1)), "rows must be 9007199254740992 rows of 3 fields, got a reply without it"},
		{"a short row", rows(int64(1), int64(2), int64(1), int64(4)), "rows.0.note must be text, got a reply without it"},
		{"in a row", rows(int64(1), int64(3), int64(1), "x", "a"), "rows.0.left" + number + "text of 1 bytes"},
		{"an int below -2^53", with(15, int64(-fcall.MaxInt-1)), "delta" + number + "-9007199254740993"},
		{"a float that is none", with(16, "nan"), "score must be a finite number, got text of 3 bytes"},
		{"an infinite float", with(16, "1e400"), "score must be a finite number, got text of 5 bytes"},
		{"a float as a number", with(16, int64(1)), "score must be text, got 1"},
	} {
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

func TestReply_keepsTheFirstProblem(t *testing.T) {
	r, err := reply(t, []any{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Text("name") != "" || r.Err() == nil {
		t.Error("a text that is not there is read")
	}
	if r.Bool("second") || r.Int("n") != 0 || r.Text("e") != "" || r.Rows("rows") != 0 || r.Duration("d") != 0 || !r.Time("at").IsZero() {
		t.Error("a method after a problem returned more than a zero")
	}
	r.Row(0)
	r.EndRows()
	if err := r.Err(); !errors.Is(err, fcall.ErrReply) || !strings.Contains(err.Error(), "name must be") {
		t.Errorf("Err is %v, want the first problem", err)
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
		if got.Wait < 0 {
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
			vals = append(vals, []any{int64(1), nil}, []any{[]any{int64(1), int64(4), "a"}})
		case 7:
			vals = append(vals, math.NaN(), true)
		}
	}
	return vals
}
