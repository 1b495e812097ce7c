package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

// The bundle caches the numbers of texts that it has seen, 512 at most.
func TestEcho_moreNumbersThanAreKept(t *testing.T) {
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		p := everything.EchoParams{Subject: "u", Since: time.UnixMicro(0), Kind: everything.EchoKindLog}
		for i := range 1200 {
			p.Number = int64(i%100) + 1
			p.Window = time.Duration(i%600+1) * time.Microsecond
			got, err := c.Echo(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if got.Number != p.Number || got.Window != p.Window {
				t.Fatalf("sent %d and %s, got %d and %s", p.Number, p.Window, got.Number, got.Window)
			}
		}
	})
}

// A text that one argument may hold, another may not.
func TestEcho_aKeptNumberIsStillOutOfBounds(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, _ *everything.Client) {
		// number is 1..100, since may be 101.
		echo := func(number string) error {
			args := []any{
				number, "", "", "", "0", "", "1", "", "101", "", "0", "", "", "", "log", "",
			}
			return rdb.FCall(t.Context(), "everything_v2_echo", []string{"ns:{u}:state", "ns:{u}:more"}, args...).Err()
		}
		if err := echo("1"); err != nil {
			t.Fatal(err)
		}
		if err := echo("101"); err == nil || !strings.HasPrefix(err.Error(), "RLARG number must be") {
			t.Errorf("number 101: got %v, want RLARG number", err)
		}
	})
}

// A server accepts only the texts that clients send; for any other it returns RLARG with the name of the argument.
func TestSigns_serverRefusesOtherTexts(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, _ *everything.Client) {
		for at, name := range []string{"delta", "score", "wide", "debt", "weight"} {
			for _, text := range []string{
				"-0", "--1", "-", "+1", "01", "-01", " 1", "1 ", "0x10", "-0x1", "nan", "-nan", "inf", "-inf", "1e999", "-0.0", "-1e-999", "1.", ".5",
				"1e", "1,5", "9007199254740992", "-9007199254740992", "1\x00", "0.5\x00", "-1\n", strings.Repeat("1", 1<<20),
			} {
				words := []any{"1", "1", "", "", ""}
				words[at] = text
				err := rdb.FCall(t.Context(), "everything_v2_signs", []string{"ns:{u}:state"}, words...).Err()
				if err == nil || !strings.HasPrefix(err.Error(), "RLARG "+name+" must be a ") {
					t.Errorf("%s %.40q: got %v, want RLARG", name, text, err)
				}
			}
		}
		for _, row := range []string{"-0;", "6;", "1,nan;", "1,-0;", "1.5;", "1,0.5,2;"} {
			err := rdb.FCall(t.Context(), "everything_v2_signs", []string{"ns:{u}:state"}, "1", "1", "", "", "", "", "", row).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "RLARG steps.0.") {
				t.Errorf("row %q: got %v, want RLARG", row, err)
			}
		}
	})
}

// texts are those of the table of keys that clients of all languages are tested against.
func texts(t *testing.T) (out []string) {
	t.Helper()
	text, err := os.ReadFile("../clients/testdata/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Keys []struct{ Bytes string }
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table.Keys) < 10 {
		t.Fatalf("%d keys: %v", len(table.Keys), err)
	}
	for _, k := range table.Keys {
		raw, err := hex.DecodeString(k.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// TestPays_keysEndInArguments sends every text of the table: no two share a key, and all keys share the subject's hash tag.
func TestPays_keysEndInArguments(t *testing.T) {
	all := append(texts(t), "")
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		seen := map[string]string{}
		for i, payer := range all {
			payee := all[(i+1)%len(all)]
			got, err := c.Pays(t.Context(), everything.PaysParams{Subject: "north 7", Payer: payer, Payee: payee})
			tag := fcall.Tag("north 7")
			want := everything.PaysResult{From: fcall.KeyOf("ns", tag, "account", payer), To: fcall.KeyOf("ns", tag, "account", payee)}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%q pays %q: %v (-want +got):\n%s", payer, payee, err, diff)
			}
			if other, taken := seen[got.From]; taken {
				t.Errorf("%q and %q share the key %s", payer, other, got.From)
			}
			seen[got.From] = payer
		}
		got, err := c.Pays(t.Context(), everything.PaysParams{Subject: "n", Payer: "ann", Payee: "ann", Receipt: "r1", ReceiptOf: "south"})
		want := everything.PaysResult{Same: true, From: "ns:{n}:account:ann", To: "ns:{n}:account:ann", Seen: "ns:{south}:paid:ann"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("one account: %v (-want +got):\n%s", err, diff)
		}
		if _, err := c.Pays(t.Context(), everything.PaysParams{Payer: "ann", Payee: "bob"}); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("an empty subject: got %v, want ErrArgument", err)
		}
	})
}

// A key of another type is named, whatever argument it ends in.
func TestPays_stateErrorNamesTheKey(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		if err := rdb.LPush(t.Context(), "ns:{n}:account:ann", "x").Err(); err != nil {
			t.Fatal(err)
		}
		_, err := c.Pays(t.Context(), everything.PaysParams{Subject: "n", Payer: "ann", Payee: "ann"})
		var state *fcall.StateError
		if !errors.As(err, &state) || state.Key != "ns:{n}:account:ann" {
			t.Errorf("a list where a string should be: got %v", err)
		}
	})
}

// A float without bounds is any finite number, in arguments, rows and results.
func TestOpen_anyFiniteNumberComesBack(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for _, n := range []float64{
			math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 1 << 53, -(1 << 53), 1 << 63, 1e300, -1e-300,
			1e22, 123456789012345678, 0.1, 0,
		} {
			steps := everything.PackOpenSteps(everything.OpenSteps{By: new(n)}, everything.OpenSteps{})
			p := everything.OpenParams{Subject: "u", Any: n, Least: math.Abs(n), Most: new(-math.Abs(n)), Steps: steps, Times: "one"}
			want := everything.OpenResult{Any: n, Least: math.Abs(n), Most: -math.Abs(n) + 0, Sum: []everything.OpenSumResult{{Of: n}, {Of: 0.5}}}
			got, err := c.Open(t.Context(), p)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%g: %v (-want +got):\n%s", n, err, diff)
			}
		}
		_, err := c.Open(t.Context(), everything.OpenParams{Subject: "u", Any: math.MaxFloat64, Times: "thousand"})
		if !errors.Is(err, fcall.ErrReply) || !strings.Contains(err.Error(), "any must be a finite number") {
			t.Errorf("an infinite result: %v", err)
		}
		for _, test := range []struct {
			must   string
			params everything.OpenParams
		}{
			{"any must be a finite number", everything.OpenParams{Any: math.NaN()}},
			{"any must be a finite number", everything.OpenParams{Any: math.Inf(1)}},
			{"any must be a finite number", everything.OpenParams{Any: math.Inf(-1)}},
			{"least must be a number at least 0", everything.OpenParams{Least: -1}},
			{"least must be a number at least 0", everything.OpenParams{Least: math.Inf(1)}},
			{"most must be a number at most 5", everything.OpenParams{Most: new(5.5)}},
			{"most must be a number at most 5", everything.OpenParams{Most: new(math.Inf(-1))}},
		} {
			test.params.Subject, test.params.Times = "u", "one"
			if _, err := c.Open(t.Context(), test.params); !errors.Is(err, fcall.ErrArgument) || !strings.HasSuffix(err.Error(), test.must) {
				t.Errorf("got %v, want %s", err, test.must)
			}
		}
		for _, text := range []string{"1e309", "-1e309", "1e999999", "inf", "nan", "-nan", "0x1p3", strings.Repeat("9", 33)} {
			err := rdb.FCall(t.Context(), "everything_v2_open", []string{"ns:{u}:state"}, text, "0", "", "", "one").Err()
			if err == nil || err.Error() != "RLARG any must be a finite number" {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
