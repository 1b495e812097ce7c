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
