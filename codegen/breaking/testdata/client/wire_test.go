package breaking_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// TestCompare_knowsTheWire changes one thing of a contract at a time, loads the library that it makes, and calls it by the client of
// the unchanged one. That client does not notice a change that no wire rule covers.
func TestCompare_knowsTheWire(t *testing.T) {
	onpath.Full(t)
	full := everything.EchoParams{
		Subject: "user42", Number: 100, Cost: new(int64(0)), Bonus: new(int64(3)), Level: 9, Price: 1_000_000_000, Tip: 1,
		Window: 30 * 24 * time.Hour, Grace: time.Hour, Since: time.UnixMicro(2), Latest: time.UnixMicro(1), On: true, Off: true,
		Note: "", Receipt: "r", Kind: everything.EchoKindBucket, Mode: everything.EchoModeOpen,
	}
	least := everything.EchoParams{Subject: "u", Number: 1, Window: time.Microsecond, Since: time.UnixMicro(0), Kind: everything.EchoKindLog}

	server := embedded.New(embedded.Options{})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	client, err := everything.New(rdb, fcall.Options{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	lib := own(t)[1].Libraries[0]
	at := slices.IndexFunc(lib.Spec.Functions, func(f spec.Function) bool { return f.Name == "echo" })
	answers := func(code string) (out [2]everything.EchoResult, err error) {
		if err := rdb.FunctionLoadReplace(t.Context(), code).Err(); err != nil {
			t.Fatal(err)
		}
		for i, p := range []everything.EchoParams{full, least} {
			if out[i], err = client.Echo(t.Context(), p); err != nil {
				return out, err
			}
		}
		return out, nil
	}
	want, err := answers(bundle.Write(lib).Code)
	if err != nil {
		t.Fatal(err)
	}
	tried, quiet := 0, 0
	everywhere(lib.Spec.Functions[at], func(where string, list func(*spec.Function) *[]spec.Field, i int) {
		for _, c := range changes {
			now := *lib
			now.Spec = clone(lib.Spec, at)
			fields := list(&now.Spec.Functions[at])
			if *fields = c.edit(*fields, i); *fields == nil {
				continue
			}
			tried++
			if len(breaking.Compare(only(lib.Spec), only(now.Spec), breaking.Reply)) > 0 {
				continue
			}
			quiet++
			got, err := answers(bundle.Write(&now).Code)
			if err != nil {
				t.Errorf("%s, %s: no rule of the wire speaks of it, and an old client gets: %v", c.name, where, err)
			} else if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, %s: no rule of the wire speaks of it, and an old client reads (-before +now):\n%s", c.name, where, d)
			}
		}
	})
	t.Logf("%d changes, %d of which no old client may notice", tried, quiet)
	if quiet < 50 || quiet > tried/2+50 {
		t.Errorf("%d changes, of which no client may notice %d: is that a test?", tried, quiet)
	}
}
