package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
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

// No number above 2^53 is exact in Lua: 2^53 + 1 would be taken for 2^53. So every numeric type refuses it, in any spelling.
func TestEcho_refusesNumbersThatLuaWouldRound(t *testing.T) {
	args := []string{"1", "", "1", "", "0", "1", "1", "", "1", "1", "0", "", "", "", "log", ""}
	// number, cost and level are bounded to 100 and less, window and grace to days; the others reach 2^53.
	names := map[int]string{0: "number", 1: "cost", 2: "bonus", 3: "level", 4: "price", 5: "tip", 6: "window", 7: "grace", 8: "since", 9: "latest"}
	unbounded := map[int]bool{2: true, 5: true, 8: true, 9: true}
	each(t, func(t *testing.T, rdb *redis.Client, _ *everything.Client) {
		for at, name := range names {
			call := func(text string) (any, error) {
				sent := make([]any, len(args))
				for i, arg := range args {
					sent[i] = arg
				}
				sent[at] = text
				return rdb.FCall(t.Context(), "everything_v2_echo", []string{"ns:{u}:state", "ns:{u}:more"}, sent...).Result()
			}
			for _, text := range []string{
				"9007199254740993", "9007199254740994", "9999999999999999", "10000000000000000", "09007199254740992", "9007199254740992.0",
				"9007199254740992 ", "9.007199254740993e15", "0x20000000000001", "+1", "-1", "-0", "00", "1\x00", "nan", "inf",
			} {
				// Twice: what was refused is not cached as a number either.
				for range 2 {
					if _, err := call(text); err == nil || !strings.HasPrefix(err.Error(), "RLARG "+name+" must be") {
						t.Errorf("%s %q: got %v, want RLARG %s", name, text, err, name)
					}
				}
			}
			if _, err := call("9007199254740992"); unbounded[at] != (err == nil) {
				t.Errorf("%s of 2^53: got %v", name, err)
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
