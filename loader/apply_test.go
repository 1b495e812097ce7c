package loader_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestApply_replacesOnlyWhatOptionsAllow(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy")
	older, newer := bundle("shop", "1.1.0", "buy"), bundle("shop", "1.3.0", "buy")
	drifted := edited(lib, "buy", "bid")
	holder := &fcall.Library{ServerName: "legacy", Code: "#!lua name=legacy\nredis.register_function('SHOP_V1_BUY', function() return 1 end)"}
	second := bundle("other", "1.0.0", "look")
	tests := []struct {
		name    string
		before  *fcall.Library
		options loader.ApplyOptions
		want    []string // outcomes; nil if the plan is refused
		reason  loader.Reason
		after   *fcall.Library
	}{
		{"missing", nil, loader.ApplyOptions{}, []string{"shop_v1 loaded", "other_v1 loaded"}, "", lib},
		{"the same", lib, loader.ApplyOptions{}, []string{"shop_v1 same", "other_v1 loaded"}, "", lib},
		{"older", older, loader.ApplyOptions{}, []string{"shop_v1 upgraded", "other_v1 loaded"}, "", lib},
		{"newer stays", newer, loader.ApplyOptions{ReplaceDrifted: true}, []string{"shop_v1 newer", "other_v1 loaded"}, "", newer},
		{"drifted refuses the whole plan", drifted, loader.ApplyOptions{}, nil, loader.ErrDrifted, drifted},
		{"drifted is replaced on purpose", drifted, loader.ApplyOptions{ReplaceDrifted: true}, []string{"shop_v1 replaced", "other_v1 loaded"}, "", lib},
		{
			"drifted is left out of a partial apply", drifted,
			loader.ApplyOptions{Partial: true},
			[]string{"shop_v1 skipped drifted", "other_v1 loaded"},
			loader.ErrDrifted, drifted,
		},
		{"a conflict refuses the whole plan", holder, loader.ApplyOptions{ReplaceDrifted: true}, nil, loader.ErrConflict, holder},
		{
			"a conflict is left out of a partial apply", holder,
			loader.ApplyOptions{Partial: true},
			[]string{"shop_v1 skipped conflict", "other_v1 loaded"},
			loader.ErrConflict, holder,
		},
	}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				client := e.Client(t)
				if tt.before != nil {
					put(t, client, tt.before.Code)
				}
				r, err := apply(client, plan(t, client, lib, second), tt.options)
				equal(t, "outcomes", tt.want, outcomes(r))
				if tt.reason != "" {
					says(t, err, tt.reason, "deploy shop_v1 on "+e.Addr+": ")
				} else if err != nil {
					t.Error(err)
				}
				equal(t, "code on the server", tt.after.Code, held(t, client, tt.after.ServerName))
				if r == nil {
					equal(t, "the other library", "", held(t, client, second.ServerName))
				}
			})
		}
	})
}

func TestApply_rejectsStalePlan(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy")
	older, oldest, newer := bundle("shop", "1.1.0", "buy"), bundle("shop", "1.0.0", "buy"), bundle("shop", "1.3.0", "buy")
	tests := []struct {
		name          string
		before, after *fcall.Library // at the plan, at the apply
		part          string         // of the error; "" if it is none
		want          string         // outcome
	}{
		{"an older version came", nil, older, "was planned as load 1.2.0 and is now upgrade 1.1.0 -> 1.2.0", ""},
		{"a newer version came", nil, newer, "is now newer 1.3.0", ""},
		{"other bytes came", nil, edited(lib, "buy", "bid"), "is now drifted", ""},
		{"it was deleted", older, nil, "was planned as upgrade 1.1.0 -> 1.2.0 and is now load 1.2.0", ""},
		{"it was there and was deleted", lib, nil, "was planned as same", ""},
		{"another older version came", older, oldest, "was planned as upgrade 1.1.0 -> 1.2.0 and is now upgrade 1.0.0 -> 1.2.0", ""},
		{"the older version was edited", older, edited(older, "buy", "bid"), "is now upgrade 1.1.0 -> 1.2.0", ""},
		{"a name was taken", nil, &fcall.Library{Code: "#!lua name=legacy\nredis.register_function('shop_v1_buy', function() return 1 end)"}, "is now conflict", ""},
		{"another deployer did the same", older, lib, "", "shop_v1 same"},
	}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				client := e.Client(t)
				if tt.before != nil {
					put(t, client, tt.before.Code)
				}
				p := plan(t, client, lib)
				if tt.after != nil {
					put(t, client, tt.after.Code)
				} else if err := client.FunctionDelete(t.Context(), "shop_v1").Err(); err != nil {
					t.Fatal(err)
				}
				before := check(t, client).Libraries
				r, err := apply(client, p, loader.ApplyOptions{})
				if tt.part == "" {
					equal(t, "error and outcome", []any{nil, tt.want}, []any{err, strings.Join(outcomes(r), ",")})
					return
				}
				says(t, err, loader.ErrChanged, "shop_v1 on "+e.Addr, tt.part, "nothing was changed")
				equal(t, "result", (*loader.Result)(nil), r)
				equal(t, "libraries", before, check(t, client).Libraries)
			})
		}
	})
}

func TestApply_rejectsPlanOfAnotherTarget(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	here := embedded.New(embedded.Options{})
	_, slots := primaries(t, 1)
	there := slots[0].Nodes[0].Addr
	_, err := apply(impatient(t, there), plan(t, here, lib), loader.ApplyOptions{})
	says(t, err, loader.ErrChanged, there+" was no primary of this target when the plan was made; nothing was changed")
	_, err = apply(here, &loader.Plan{}, loader.ApplyOptions{})
	says(t, err, loader.ErrPlan)
}

func TestApply_keepsBytesExactly(t *testing.T) {
	codes := map[string]*fcall.Library{
		"carriage returns": edited(bundle("shop", "1.0.0", "buy"), "DO NOT EDIT.\n-- rlfunc: library=shop version=1.0.0\n", "DO NOT EDIT.\r\n-- rlfunc: library=shop version=1.0.0\r\n"),
		"bytes above 127":  edited(bundle("shop", "1.0.0", "buy"), "'1.0.0'", "'\xff\xfe\x80 caf\u00e9'"),
		"no newline at the end": func() *fcall.Library {
			l := bundle("shop", "1.0.0", "buy")
			l.Code = strings.TrimSuffix(l.Code, "\n")
			return l
		}(),
	}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, lib := range codes {
			t.Run(name, func(t *testing.T) {
				client := e.Client(t)
				r, err := apply(client, plan(t, client, lib), loader.ApplyOptions{})
				equal(t, "error and outcome", []any{nil, []string{"shop_v1 loaded"}}, []any{err, outcomes(r)})
				equal(t, "code", lib.Code, held(t, client, "shop_v1"))
			})
		}
	})
}

func TestApply_rejectedLibraryKeepsOldOne(t *testing.T) {
	older := bundle("shop", "1.0.0", "buy")
	lib := bundle("shop", "1.1.0", "buy")
	tests := []struct {
		name   string
		code   string
		reason loader.Reason
		parts  []string
	}{
		{"syntax", lib.Code + "x x\n", loader.ErrRejected, []string{"the server refuses the library", "functions/shop/shop.lua:3"}},
		{"an error while loading", lib.Code + "local none = nil; none.x = 1\n", loader.ErrRejected, []string{"functions/shop/shop.lua:3", "attempt to index"}},
		{"endless", lib.Code + "while true do end\n", loader.ErrRejected, []string{"500 ms"}},
	}
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		put(t, client, older.Code)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				broken := *lib
				broken.Code = tt.code
				second := bundle("other", "1.0.0", "look")
				r, err := apply(client, plan(t, client, &broken, second), loader.ApplyOptions{})
				says(t, err, tt.reason, append(tt.parts, "deploy shop_v1 on "+e.Addr)...)
				// The others' results are kept.
				equal(t, "outcomes", "shop_v1 failed "+string(tt.reason), outcomes(r)[0])
				if got := r.Nodes[0].Steps[1].Word(); got != "loaded" && got != "same" {
					t.Errorf("the other library is %s", got)
				}
				equal(t, "code", older.Code, held(t, client, "shop_v1"))
			})
		}
	})
}
