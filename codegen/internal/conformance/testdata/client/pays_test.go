package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

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
