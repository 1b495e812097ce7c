package loader_test

import (
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader"
)

// The client would repeat a command whose reply is lost; the load is sent once.
func TestLoad_lostReplyIsResolvedByReading(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	there := "*1\r\n*8\r\n" + bulk("library_name") + bulk("shop_v1") + bulk("engine") + bulk("LUA") +
		bulk("functions") + "*0\r\n" + bulk("library_code") + bulk(lib.Code)
	tests := []struct {
		name  string
		after string // the list after the load
		want  string
		part  string // of the error
	}{
		{"it is there", there, "shop_v1 loaded", ""},
		{"it is not there", "*0\r\n", "shop_v1 failed outcome_unknown", "right after, it was missing; deploy again"},
		{"the outcome stays unknown", hangUp, "shop_v1 failed outcome_unknown", "; run plan, then deploy again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var loads atomic.Int32
			plain := answers("redis_version:7.2.0\r\nrole:master\r\n", nil)
			s := newFakeServer(t, func(command string, args []string) string {
				switch {
				case command == "FUNCTION LOAD" && args[len(args)-1] == lib.Code:
					loads.Add(1)
					return hangUp
				case command == "FUNCTION LIST" && loads.Load() > 0:
					return tt.after
				}
				return plain(command, args)
			})
			client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: 3})
			defer client.Close()
			r, err := apply(client, plan(t, client, lib), loader.ApplyOptions{})
			equal(t, "outcomes", []string{tt.want}, outcomes(r))
			if tt.part == "" {
				if err != nil {
					t.Error(err)
				}
			} else {
				says(t, err, loader.ErrOutcomeUnknown, "deploy shop_v1 on "+s.addr, tt.part)
			}
			equal(t, "loads", int32(1), loads.Load())
		})
	}
}

func TestRevisionKey_avoidsMigratingSlots(t *testing.T) {
	const other = "b 10.0.0.2:6379@16379 master - 0 1 2 connected 0-16383\n"
	// Slots as CLUSTER KEYSLOT tells them: deploy:0 is in 2219, deploy:1 in 6282, deploy:2 in 10473, deploy:3 in 14536, deploy:4 in 2095.
	tests := []struct{ name, own, want string }{
		{"all slots", "0-16383", "rlfunc:{deploy:0}:revision"},
		{"a third", "5461-10922", "rlfunc:{deploy:1}:revision"},
		{"another third", "10923-16383", "rlfunc:{deploy:3}:revision"},
		{"scattered", "5 10473 12000-12001", "rlfunc:{deploy:2}:revision"},
		{"a slot that leaves", "2219 10473-10473 [2219->-b]", "rlfunc:{deploy:2}:revision"},
		{"a slot that leaves a range", "2000-2300 6282 [2219->-b]", "rlfunc:{deploy:1}:revision"},
		{"and one more", "2000-2300 [2219->-b]", "rlfunc:{deploy:4}:revision"},
		{"a slot that comes", "14536 [2219-<-b]", "rlfunc:{deploy:3}:revision"},
		{"none", "", ""},
		{"only one, that leaves", "2219 [2219->-b]", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := loader.RevisionKey(other + "a 10.0.0.1:6379@16379 myself,master - 0 1 1 connected " + tt.own + "\n")
			equal(t, "key and error", []any{tt.want, nil}, []any{got, err})
		})
	}
	for _, list := range []string{other, "a 10.0.0.1:7001@17001 myself,master - 0 1 1 connected x-y\n"} {
		if _, err := loader.RevisionKey(list); err == nil {
			t.Errorf("a key for %q", list)
		}
	}
}
