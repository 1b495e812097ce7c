package loader_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestPlan_listsActions(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy", "sell")
	foreign := "#!lua name=shop_v1\nredis.register_function('shop_v1_x', function() return 1 end)"
	tests := []struct {
		name   string
		before []string // code on the server
		want   string
		text   string
		reason string // part of it
	}{
		{"missing", nil, "load", "load 1.2.0", ""},
		{"other libraries there", []string{bundle("other", "1.0.0", "buy").Code}, "load", "load 1.2.0", ""},
		{"the same bytes", []string{lib.Code}, "same", "same 1.2.0", ""},
		{"an older version", []string{bundle("shop", "1.1.9", "buy").Code}, "upgrade", "upgrade 1.1.9 -> 1.2.0", ""},
		{"an older version by number and not by letter", []string{bundle("shop", "1.2.0-rc.1", "buy").Code}, "upgrade", "upgrade 1.2.0-rc.1 -> 1.2.0", ""},
		{"a newer version", []string{bundle("shop", "1.10.0", "buy").Code}, "newer", "newer 1.10.0", ""},
		{
			"the same version with other bytes",
			[]string{edited(lib, "_sell'", "_sold'").Code},
			"drifted", "drifted 1.2.0", "the server's shop_v1 1.2.0 differs from this source, first at functions/shop/shop.lua:3; give it a new version, or replace it with `rlfunc deploy --replace-drifted`",
		},
		{
			"a function held by another library",
			[]string{"#!lua name=legacy\nredis.register_function('shop_v1_sell', function() return 1 end)"},
			"conflict", "conflict 1.2.0", "function shop_v1_sell belongs to library legacy",
		},
		{
			"a function held in other letters",
			[]string{"#!lua name=legacy\nredis.register_function('SHOP_v1_Sell', function() return 1 end)"},
			"conflict", "conflict 1.2.0", "function SHOP_v1_Sell belongs to library legacy",
		},
		{
			"an upgrade adds a function that another library holds",
			[]string{bundle("shop", "1.1.0", "buy").Code, "#!lua name=legacy\nredis.register_function('shop_v1_sell', function() return 1 end)"},
			"conflict", "conflict 1.2.0", "function shop_v1_sell belongs to library legacy",
		},
		{"the name held by a foreign library", []string{foreign}, "foreign", "foreign 1.2.0", "did not make"},
		{
			"the name held by another library of ours",
			[]string{strings.Replace(lib.Code, "library=shop", "library=shops", 1)},
			"foreign", "foreign 1.2.0", "the name shop_v1 belongs",
		},
		{
			"a version that is none",
			[]string{strings.Replace(lib.Code, "version=1.2.0", "version=latest", 1)},
			"foreign", "foreign 1.2.0", "the name shop_v1 belongs",
		},
	}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				client := e.Client(t)
				for _, code := range tt.before {
					put(t, client, code)
				}
				p := plan(t, client, lib)
				step := p.Nodes[0].Steps[0]
				if stands(step) != tt.want || step.String() != tt.text || (step.Problem == nil) != (tt.reason == "") {
					t.Errorf("step %q, %s, problem %v; want %s, %q, problem with %q", step, stands(step), step.Problem, tt.want, tt.text, tt.reason)
				}
				if step.Problem != nil && !strings.Contains(step.Problem.Text, tt.reason) {
					t.Errorf("problem %v; want one with %q", step.Problem, tt.reason)
				}
				equal(t, "count", 1, p.Count(func(s loader.Step) bool { return stands(s) == tt.want }))
				equal(t, "changes", tt.want == "load" || tt.want == "upgrade", p.Changes())
				equal(t, "blocked", tt.want == "drifted" || tt.want == "conflict" || tt.want == "foreign", p.Count(loader.Step.Blocks) > 0)
			})
		}
	})
}

func TestPlan_rejectsInconsistentLibrary(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy")
	renamed, other := *lib, *lib
	renamed.ServerName = "shop_v2"
	other.Version = "1.3.0"
	tests := []struct {
		name   string
		libs   []*fcall.Library
		reason loader.Reason
		part   string
	}{
		{"none", nil, loader.ErrLibrary, "no library"},
		{"nil", []*fcall.Library{nil}, loader.ErrLibrary, "nil"},
		{"another server name", []*fcall.Library{&renamed}, loader.ErrLibrary, "plan shop_v2: the code does not begin with `#!lua name=shop_v2`"},
		{"another version", []*fcall.Library{&other}, loader.ErrLibrary, "version=1.3.0"},
		{"no metadata", []*fcall.Library{edited(lib, "-- rlfunc:", "-- rlfun:")}, loader.ErrLibrary, "head"},
		{"twice", []*fcall.Library{lib, lib}, loader.ErrLibrary, "twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Nothing is asked of the server: there is none.
			_, err := loader.NewTarget(impatient(t, "127.0.0.1:1")).Plan(t.Context(), tt.libs...)
			says(t, err, tt.reason, tt.part)
		})
	}
}

func TestReadPlan_roundTrips(t *testing.T) {
	onEngines(t, func(t *testing.T, _ engines.Engine, client *redis.Client) {
		lib, second := bundle("shop", "1.2.0", "buy"), bundle("other", "1.0.0", "look")
		put(t, client, bundle("shop", "1.1.0", "buy").Code)
		p := plan(t, client, lib, second)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "register_function") {
			t.Error("the saved plan holds code")
		}
		read, err := loader.ReadPlan(text, second, lib)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "plan", string(text), string(again))
		r, err := apply(client, read, loader.ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "outcomes", []string{"shop_v1 upgraded", "other_v1 loaded"}, outcomes(r))
	})
}

func TestReadPlan_rejectsOtherLibraries(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy")
	good := `{"format":3,"op":"deploy","libraries":[{"name":"shop","version":"1.2.0","server_name":"shop_v1","digest":"` + lib.Digest() + `"}],` +
		`"nodes":[{"addr":"a:1","steps":[{"library":"shop_v1","state":"missing","action":"load","to":"1.2.0"}]}]}`
	if _, err := loader.ReadPlan([]byte(good), lib); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		text   string
		libs   []*fcall.Library
		reason loader.Reason
		part   string
	}{
		{"empty", "", []*fcall.Library{lib}, loader.ErrPlan, "not a saved plan"},
		{"not JSON", "nodes: []", []*fcall.Library{lib}, loader.ErrPlan, "not a saved plan"},
		{"no format", "{}", []*fcall.Library{lib}, loader.ErrPlan, "its format is 0"},
		{"an older format", `{"format":1,"op":"deploy","nodes":[]}`, []*fcall.Library{lib}, loader.ErrPlan, "another version of rlfunc saved it (its format is 1, and this version reads format 3); plan again"},
		{"a later format", `{"format":4}`, []*fcall.Library{lib}, loader.ErrPlan, "its format is 4, and this version reads format 3"},
		{"no libraries", `{"format":3,"op":"deploy"}`, []*fcall.Library{lib}, loader.ErrLibrary, "no library"},
		{"another shape", `{"format":3,"nodes":7}`, []*fcall.Library{lib}, loader.ErrPlan, "not a saved plan"},
		{"a step too few", strings.Replace(good, `{"library":"shop_v1","state":"missing","action":"load","to":"1.2.0"}`, "", 1), []*fcall.Library{lib}, loader.ErrPlan, "one step for each library"},
		{"a library is gone", good, nil, loader.ErrChanged, "or it is gone"},
		{"a library has changed", good, []*fcall.Library{edited(lib, "buy", "bid")}, loader.ErrChanged, "has changed since"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loader.ReadPlan([]byte(tt.text), tt.libs...)
			says(t, err, tt.reason, tt.part)
		})
	}
}

func TestPlan_acceptsGeneratedLibrary(t *testing.T) {
	onEngines(t, func(t *testing.T, _ engines.Engine, client *redis.Client) {
		p := plan(t, client, ratelimit.Library)
		if _, err := apply(client, p, loader.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		state := check(t, client)
		got := state.Libraries[0]
		equal(t, "code", ratelimit.Library.Code, got.Code)
		equal(t, "digest", ratelimit.Library.Digest(), got.Digest)
		equal(t, "name and version", "ratelimit 1.0.0", got.Name+" "+got.Version)
		if state.Server.Version == "" || state.Role != loader.Primary || state.Problem != nil {
			t.Errorf("node is %+v", state)
		}
		// All names that the server knows were found by reading, so a collision is seen before the deploy.
		for _, f := range got.Functions {
			holder := "#!lua name=legacy\nredis.register_function('" + strings.ToUpper(f) + "', function() return 1 end)"
			must(t, client.FunctionDelete(t.Context(), got.ServerName).Err())
			put(t, client, holder)
			equal(t, f, "conflict", stands(plan(t, client, ratelimit.Library).Nodes[0].Steps[0]))
			must(t, client.FunctionDelete(t.Context(), "legacy").Err())
			put(t, client, ratelimit.Library.Code)
		}
	})
}
