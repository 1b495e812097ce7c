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
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/acl"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
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
			case f.Kind == spec.KindKey || f.Optional:
			case f.Kind.Group():
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

// The user of a library calls each of its functions, in each mode, and none of another library on the same keys.
func TestACL_aServiceCallsItsOwnFunctionsAndNoOther(t *testing.T) {
	real := engines.AllReal(t)
	if len(real) == 0 {
		return // describing the libraries takes long
	}
	tree, err := (&app{dir: os.TempDir()}).described(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const shared = "shared"
	bundles, canaries := map[*codegen.Library]*fcall.Library{}, map[*codegen.Library]*fcall.Library{}
	for _, lib := range tree.Libraries {
		bundles[lib] = runtime.Library(lib)
		canary, err := bundles[lib].Channel("canary")
		if err != nil {
			t.Fatal(err)
		}
		canaries[lib] = canary
	}
	for _, e := range real {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			admin := e.Client(t)
			for _, lib := range tree.Libraries {
				for _, code := range []string{bundles[lib].Code, canaries[lib].Code} {
					if err := admin.FunctionLoad(t.Context(), code).Err(); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, own := range tree.Libraries {
				user := func(name string, rule acl.Rule) *redis.Client {
					o, err := redis.ParseURL(as(t, e, admin, rule.SetUser(name)))
					if err != nil {
						t.Fatal(err)
					}
					rdb := redis.NewClient(o)
					t.Cleanup(func() { _ = rdb.Close() })
					return rdb
				}
				rule := acl.Library(&own.Spec, shared)
				plain := user("plain", rule)
				canary := user("canary", rule.And(acl.Library(acl.InChannel(&own.Spec, canaries[own].ServerName), shared)))
				scripts, any := user("scripts", rule.Scripts()), user("any", rule.AnyFunction())
				for _, lib := range tree.Libraries {
					call := func(mode string, caller fcall.Caller, o fcall.Options, want error) {
						t.Helper()
						o.Namespace, o.NoAutoLoad = shared, true
						client, err := fcall.NewClient(caller, bundles[lib], o)
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
								t.Errorf("the user of %s calls %s.%s, %s: got %v, want %v", own.Spec.Name, lib.Spec.Name, fn.Name, mode, err, want)
							}
							if err := admin.FlushDB(t.Context()).Err(); err != nil {
								t.Fatal(err)
							}
						}
					}
					functions := fcall.Options{Mode: fcall.ModeFunctions}
					inChannel := fcall.Options{Mode: fcall.ModeFunctions, Channel: "canary"}
					if lib == own {
						call("plain", plain, functions, nil)
						call("in a channel", canary, inChannel, nil)
						call("beside a channel", canary, functions, nil)
						call("any function", any, functions, nil)
						call("as scripts", scripts, fcall.Options{Mode: fcall.ModeScripts}, nil)
						call("in a channel that was not asked for", plain, inChannel, fcall.ErrNoPermission)
						continue
					}
					call("plain", plain, functions, fcall.ErrNoPermission)
					call("in a channel", canary, inChannel, fcall.ErrNoPermission)
					call("as scripts", plain, fcall.Options{Mode: fcall.ModeScripts}, fcall.ErrNoPermission)
				}
			}
		})
	}
}

// byKind are the functions whose commands depend on the kinds of their rows, which are found at run time: they ask for those that do not.
var byKind = []string{"guard.admit", "guard.refund", "guard.take", "ratelimit.check"}

// A function whose user lacks one of its permissions names it, before it has written anything. The first call on a server finds it, also
// those of other users.
func TestACL_aMissingPermissionIsFoundBeforeTheFirstWrite(t *testing.T) {
	real := engines.AllReal(t)
	if len(real) == 0 {
		return // describing the libraries takes long
	}
	tree, err := (&app{dir: os.TempDir()}).described(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range real {
		t.Run(e.Name, func(t *testing.T) {
			admin := e.Client(t)
			for _, lib := range tree.Libraries {
				bundle := runtime.Library(lib)
				for i := range lib.Spec.Functions {
					fn := &lib.Spec.Functions[i]
					if fn.Has("no-writes") || slices.Contains(byKind, lib.Spec.Name+"."+fn.Name) {
						continue
					}
					rule := acl.Function(&lib.Spec, fn, "")
					for _, command := range rule.Commands {
						if strings.HasPrefix(command, "fcall") {
							continue
						}
						o, err := redis.ParseURL(as(t, e, admin, rule.SetUser("lacking")+" -"+command))
						if err != nil {
							t.Fatal(err)
						}
						rdb := redis.NewClient(o)
						if err := admin.FunctionLoadReplace(t.Context(), bundle.Code).Err(); err != nil {
							t.Fatal(err)
						}
						client, err := fcall.NewClient(rdb, bundle, fcall.Options{Mode: fcall.ModeFunctions, NoAutoLoad: true})
						if err != nil {
							t.Fatal(err)
						}
						c, err := dyncall.New(client, fn, legal(fn))
						if err != nil {
							t.Fatal(err)
						}
						for range 3 {
							if _, err := c.Do(t.Context()); !errors.Is(err, fcall.ErrNoPermission) || !strings.Contains(err.Error(), "+"+command) {
								t.Errorf("%s.%s without +%s: %v", lib.Spec.Name, fn.Name, command, err)
							}
						}
						if n := admin.DBSize(t.Context()).Val(); n != 0 {
							t.Errorf("%s.%s without +%s wrote %d keys", lib.Spec.Name, fn.Name, command, n)
							if err := admin.FlushDB(t.Context()).Err(); err != nil {
								t.Fatal(err)
							}
						}
						rdb.Close()
					}
				}
			}
		})
	}
}

// The flags of acl print those rules.
func TestACL_printsTheRuleThatIsAskedFor(t *testing.T) {
	onpath.Full(t)
	for _, test := range []struct{ flags, want, not []string }{
		{[]string{"--channel", "canary"}, []string{"+fcall|challenge_v1_consume", "+fcall|challenge_v1_canary_consume", "+fcall_ro|challenge_v1_peek"}, []string{"+fcall", "+fcall_ro", "+eval"}},
		{[]string{"--scripts"}, []string{"+eval", "+evalsha", "+eval_ro", "+evalsha_ro"}, []string{"+fcall", "+fcall|challenge_v1_consume"}},
	} {
		words := strings.Fields(aclLine(t, append([]string{"service", "challenge"}, test.flags...)...))
		for _, want := range test.want {
			if !slices.Contains(words, want) {
				t.Errorf("%v: %s is missing in %v", test.flags, want, words)
			}
		}
		for _, not := range test.not {
			if slices.Contains(words, not) {
				t.Errorf("%v: %s stands in %v", test.flags, not, words)
			}
		}
	}
}
