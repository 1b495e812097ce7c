package conformance

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/fcall"
)

// older returns the code of a library whose signs lacks the last two arguments, as it was before they were added.
func older(t *testing.T) string {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"everything/library.lua", "everything/signs.lua"} {
		text, err := os.ReadFile("functions/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "--- @arg    s") || strings.HasPrefix(line, "--- @arg    score") {
				kept = append(kept, line)
			}
		}
		was := strings.Replace(strings.Join(kept, ""), ", strict, steps)\n", ")\n  local strict, steps = true, {}\n", 1)
		files[name] = &fstest.MapFile{Data: []byte(was)}
	}
	tree, found := source.Load(files, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	return bundle.Write(tree.Libraries[0]).Code
}

// A client whose header has more arguments calls an older library of the same major version: a call that omits them runs, and one that
// gives them is refused before anything runs.
func TestOptionalArguments_newClientOldLibrary(t *testing.T) {
	code := older(t)
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		if err := rdb.FunctionLoadReplace(t.Context(), code).Err(); err != nil {
			t.Fatal(err)
		}
		p := everything.SignsParams{Subject: "u", Delta: -3, Region: "us"}
		got, err := c.Signs(t.Context(), p)
		if err != nil || !got.Allowed || got.Delta != -3 || got.Region != "us" {
			t.Errorf("a call without the new arguments: got %+v and %v", got, err)
		}
		p.Strict = new(false)
		if _, err := c.Signs(t.Context(), p); !errors.Is(err, fcall.ErrArgument) || errors.Is(err, fcall.ErrOutcomeUnknown) {
			t.Errorf("a call with a new argument: got %v, want ErrArgument", err)
		}
	})
}

// A client that sends only the arguments of the older header calls the new library, which applies the defaults of the new ones.
func TestOptionalArguments_oldClientNewLibrary(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		want, err := c.Signs(t.Context(), everything.SignsParams{Subject: "u", Delta: -3, Score: 1, Region: "us"})
		if err != nil || !want.Allowed {
			t.Fatalf("got %+v and %v, want strict by default", want, err)
		}
		sent := func(words ...any) []any {
			got, err := rdb.FCall(t.Context(), "everything_v2_signs", []string{"ns:{u}:state"}, words...).Slice()
			if err != nil {
				t.Errorf("%v: %v", words, err)
			}
			return got
		}
		short, long := sent("-3", "1", "", "", "", "us"), sent("-3", "1", "", "", "", "us", "1", "")
		if diff := cmp.Diff(long, short); diff != "" {
			t.Errorf("an older client reads another reply (-new +old):\n%s", diff)
		}
	})
}
