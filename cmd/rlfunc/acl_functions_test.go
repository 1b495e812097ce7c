package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/acl"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// legal is a call of a function with small legal arguments.
func legal(fn *spec.Function) []string {
	words := []string{spec.Subject + "=u1"}
	times := 0
	var add func(prefix string, fields []spec.Field)
	add = func(prefix string, fields []spec.Field) {
		for _, f := range fields {
			name := prefix + f.Name + "="
			switch {
			case f.Kind == spec.KindKey || f.Optional && name != "limits.0.window=" && name != "budgets.0.window=" && name != "target=": // which gcra, a budget and override.clear want
			case f.Kind == spec.KindGroup:
				if f.Min == 0 {
					continue
				}
				add(prefix+f.Name+".0.", f.Fields)
			case f.Kind == spec.KindDuration:
				words = append(words, name+"1h")
			case f.Kind == spec.KindTime:
				// Several are the boundaries of periods, which hold now.
				words = append(words, name+time.Now().AddDate(0, 0, times-1).UTC().Format(time.RFC3339))
				times++
			case f.Kind == spec.KindBool:
				words = append(words, name+"true")
			case f.Kind == spec.KindText:
				words = append(words, name+strings.Repeat("a", int(f.Min)))
			case f.Kind == spec.KindEnum:
				value := f.Values[0]
				switch {
				case fn.Name == "renew" || fn.Name == "release":
					value = "concurrency"
				case slices.Contains(f.Values, "gcra"): // every other function takes it
					value = "gcra"
				}
				words = append(words, name+value)
			default:
				words = append(words, fmt.Sprintf("%s%d", name, max(f.Min, min(f.Max, 10))))
			}
		}
	}
	add("", fn.Params)
	return words
}

// The user of a library calls each of its functions, and none of another library on the same keys.
func TestACL_aServiceCallsItsOwnFunctionsAndNoOther(t *testing.T) {
	real := engines.AllReal(t)
	if len(real) == 0 {
		return // describing the libraries takes long
	}
	tree, err := project.BuiltIn(os.TempDir()).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const shared = "shared"
	bundles := map[*codegen.Library]*fcall.Library{}
	for _, lib := range tree.Libraries {
		bundles[lib] = runtime.Library(lib)
	}
	for _, e := range real {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			admin := e.Client(t)
			for _, lib := range tree.Libraries {
				must(t, admin.FunctionLoad(t.Context(), bundles[lib].Code).Err())
			}
			for _, own := range tree.Libraries {
				o, err := redis.ParseURL(as(t, e, admin, acl.Library(&own.Spec, shared).SetUser("plain")))
				if err != nil {
					t.Fatal(err)
				}
				rdb := redis.NewClient(o)
				t.Cleanup(func() { _ = rdb.Close() })
				for _, lib := range tree.Libraries {
					want := fcall.ErrNoPermission
					if lib == own {
						want = nil
					}
					client, err := fcall.NewClient(rdb, bundles[lib], fcall.Options{Namespace: shared, NoAutoLoad: true})
					if err != nil {
						t.Fatal(err)
					}
					for i := range lib.Spec.Functions {
						fn := &lib.Spec.Functions[i]
						c, err := dyncall.New(client, fn, legal(fn))
						if err != nil {
							t.Fatalf("%s.%s: %v", lib.Spec.Name, fn.Name, err)
						}
						if _, err := c.Do(t.Context()); !errors.Is(err, want) {
							t.Errorf("the user of %s calls %s.%s: got %v, want %v", own.Spec.Name, lib.Spec.Name, fn.Name, err, want)
						}
						must(t, admin.FlushDB(t.Context()).Err())
					}
				}
			}
		})
	}
}
