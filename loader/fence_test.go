package loader_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestFence_pausedDeployerLoadsNothing(t *testing.T) {
	older, lib, newer := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy"), bundle("shop", "1.2.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, moment := range map[string][]string{"before it looks at the lock": atLock, "after it has looked": atQueue, "at the last moment": atExec} {
			t.Run(name, func(t *testing.T) {
				client := e.Client(t)
				put(t, client, older.Code)
				slow := interrupted(t, e, func() {
					client.Del(t.Context(), leaseOfOne, lockOfOne) // as their expiry does
					if _, err := apply(client, plan(t, client, newer), as("bert")); err != nil {
						t.Error(err)
					}
					hold(t, client, "carl", 0)
				}, moment...)
				r, err := apply(slow, plan(t, client, lib), as("anna"))
				says(t, err, loader.ErrLockLost, "load shop_v1 on "+e.Addr+": the lock was lost", "nothing was loaded")
				equal(t, "outcomes", []string{"shop_v1 failed lock_lost"}, outcomes(r))
				equal(t, "code", newer.Code, held(t, client, "shop_v1"))
				// The lock that it releases is no longer its own.
				equal(t, "the third one's lock", int64(1), client.Exists(t.Context(), lockOfOne).Val())
				equal(t, "history", []string{
					"deploy by anna failed: shop_v1 1.0.0>1.1.0 failed",
					"deploy by bert done: shop_v1 1.0.0>1.2.0 upgraded",
				}, story(t, client))
			})
		}
	})
}

func TestFence_keepsLoadOfAnotherTool(t *testing.T) {
	older, lib := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	theirs := edited(older, "return '1.0.0'", "return 'a hotfix'")
	foreign := &fcall.Library{ServerName: "shop_v1", Code: "#!lua name=shop_v1\nredis.register_function('shop_v1_buy', function() return 1 end)"}
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, moment := range map[string][]string{"before it looks again": atLock, "after it has looked": atQueue, "at the last moment": atExec} {
			for what, tool := range map[string]*fcall.Library{"edited": theirs, "foreign": foreign} {
				if name == "before it looks again" {
					client := e.Client(t)
					put(t, client, older.Code)
					slow := interrupted(t, e, func() { put(t, client, tool.Code) }, moment...)
					r, err := apply(slow, plan(t, client, lib), loader.ApplyOptions{})
					says(t, err, loader.ErrChanged, "load shop_v1 on "+e.Addr+": another tool changed it meanwhile (it was 1.0.0 and is ", "plan again")
					equal(t, "outcomes", []string{"shop_v1 failed changed"}, outcomes(r))
					equal(t, "code", tool.Code, held(t, client, "shop_v1"))
				}
				t.Run(name+" "+what+" where nothing was", func(t *testing.T) {
					client := e.Client(t)
					slow := interrupted(t, e, func() { put(t, client, tool.Code) }, moment...)
					_, err := apply(slow, plan(t, client, lib), loader.ApplyOptions{})
					says(t, err, loader.ErrChanged, "load shop_v1 on "+e.Addr)
					equal(t, "code", tool.Code, held(t, client, "shop_v1"))
				})
			}
		}
	})
}

func TestFence_sameLoadByAnotherToolSucceeds(t *testing.T) {
	older, lib := bundle("shop", "1.0.0", "buy"), bundle("shop", "1.1.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, moment := range map[string][]string{"before it looks again": atLock, "at the last moment": atExec} {
			t.Run(name, func(t *testing.T) {
				client := e.Client(t)
				put(t, client, older.Code)
				slow := interrupted(t, e, func() { put(t, client, lib.Code) }, moment...)
				r, err := apply(slow, plan(t, client, lib), loader.ApplyOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if got := outcomes(r)[0]; got != "shop_v1 same" && got != "shop_v1 upgraded" {
					t.Errorf("outcome %s", got)
				}
				equal(t, "code", lib.Code, held(t, client, "shop_v1"))
			})
		}
	})
}
