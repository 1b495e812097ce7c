package loader_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestEnsure_loadsOnlyMissingLibraries(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy")
	older, newer, drifted := bundle("shop", "1.1.0", "buy"), bundle("shop", "1.3.0", "buy"), edited(lib, "buy", "bid")
	foreign := &fcall.Library{ServerName: "shop_v1", Code: "#!lua name=shop_v1\nredis.register_function('x', function() return 1 end)"}
	holder := &fcall.Library{ServerName: "legacy", Code: "#!lua name=legacy\nredis.register_function('SHOP_V1_BUY', function() return 1 end)"}
	tests := []struct {
		name   string
		before *fcall.Library
		want   loader.Step // its outcome and versions
		reason loader.Reason
		part   string
	}{
		{"missing", nil, loader.Step{Outcome: loader.Done, Found: "1.2.0"}, "", ""},
		{"same", lib, loader.Step{Outcome: loader.Skipped, From: "1.2.0", Found: "1.2.0"}, "", ""},
		{"newer", newer, loader.Step{Outcome: loader.Skipped, From: "1.3.0", Found: "1.3.0"}, "", ""},
		{"older", older, loader.Step{Outcome: loader.Failed, From: "1.1.0", Found: "1.1.0"}, loader.ErrOlder, "the node has 1.1.0, and this client was generated from 1.2.0; run `rlfunc deploy`"},
		{"drifted", drifted, loader.Step{Outcome: loader.Failed, From: "1.2.0", Found: "1.2.0"}, loader.ErrDrifted, "differs from this source, first at functions/shop/shop.lua:2; give it a new version, or replace it with `rlfunc deploy --replace-drifted`"},
		{"foreign", foreign, loader.Step{Outcome: loader.Failed}, loader.ErrConflict, "the name shop_v1 belongs"},
		{"a function is held", holder, loader.Step{Outcome: loader.Failed}, loader.ErrConflict, "function SHOP_V1_BUY belongs to library legacy"},
	}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				client := e.Client(t)
				if tt.before != nil {
					put(t, client, tt.before.Code)
				}
				r, err := loader.Ensure(t.Context(), client, lib)
				got := r.Nodes[0].Steps[0]
				if tt.reason != "" {
					says(t, err, tt.reason, "ensure shop_v1 on "+e.Addr+": ", tt.part)
				} else if err != nil {
					t.Error(err)
				}
				equal(t, "result", tt.want, loader.Step{Outcome: got.Outcome, From: got.From, Found: got.Found})
				after := lib
				if tt.before != nil {
					after = tt.before
				}
				equal(t, "code", after.Code, held(t, client, after.ServerName))
			})
		}
	})
}

// inParallel runs f 20 times at once and returns the results.
func inParallel(f func(i int) (*loader.Result, error)) (results []*loader.Result, errs []error) {
	results, errs = make([]*loader.Result, 20), make([]error, 20)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			<-start
			results[i], errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return results, errs
}

func TestEnsure_concurrentCallsSucceed(t *testing.T) {
	lib := bundle("shop", "1.2.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		clients := make([]*redis.Client, 20)
		for i := range clients {
			clients[i] = e.Connect(t, nil)
			must(t, clients[i].Ping(t.Context()).Err())
		}
		results, errs := inParallel(func(i int) (*loader.Result, error) { return loader.Ensure(t.Context(), clients[i], lib) })
		loaded := 0
		for i, err := range errs {
			if err != nil {
				t.Error(err)
			}
			loaded += results[i].Changed()
		}
		equal(t, "loads", 1, loaded)
		equal(t, "code", lib.Code, held(t, client, "shop_v1"))
	})
}

func TestEnsure_concurrentVersionsNeverReplace(t *testing.T) {
	old, young := bundle("shop", "1.1.0", "buy"), bundle("shop", "1.2.0", "buy")
	onEngines(t, func(t *testing.T, _ engines.Engine, client *redis.Client) {
		results, errs := inParallel(func(i int) (*loader.Result, error) {
			return loader.Ensure(t.Context(), client, []*fcall.Library{old, young}[i%2])
		})
		winner := held(t, client, "shop_v1")
		loaded := 0
		for i, err := range errs {
			switch {
			case i%2 == 1 && winner == old.Code:
				says(t, err, loader.ErrOlder, "run `rlfunc deploy`")
			case err != nil:
				t.Error(err)
			}
			loaded += results[i].Changed()
		}
		equal(t, "loads", 1, loaded)
	})
}

func TestEnsure_acceptsEmbeddedServer(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	r, err := loader.Ensure(t.Context(), s, bundle("shop", "1.2.0", "buy"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "outcomes", []string{"shop_v1 loaded"}, outcomes(r))
	equal(t, "kind", "embedded", check(t, s).Server.Kind)
}

// Where packets are dropped, go-redis alone tries for minutes, and the service would not start.
func TestEnsure_givesUpAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dropped := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: dropped, ContextTimeoutEnabled: true})
		began := time.Now()
		_, err := loader.Ensure(t.Context(), client, bundle("shop", "1.2.0", "buy"))
		says(t, err, loader.ErrUnreachable, "ensure shop_v1 on 127.0.0.1:1: no answer: timed out")
		equal(t, "time", 10*time.Second, time.Since(began))
		client.Close()
		time.Sleep(time.Minute) // until go-redis dials no more
	})
}
