package loader_test

import (
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader"
)

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
		{"the outcome stays unknown", hangUp, "shop_v1 failed outcome_unknown", "could not be read back; run verify"},
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
			client := impatient(t, s.addr)
			r, err := apply(client, plan(t, client, lib), loader.ApplyOptions{})
			equal(t, "outcomes", []string{tt.want}, outcomes(r))
			if tt.part == "" {
				if err != nil {
					t.Error(err)
				}
			} else {
				says(t, err, loader.ErrOutcomeUnknown, "load shop_v1 on "+s.addr, tt.part)
			}
			equal(t, "loads", int32(1), loads.Load())
		})
	}
}

func TestLoad_sentOnceByRetryingClient(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	var loads atomic.Int32
	plain := answers("redis_version:7.2.0\r\nrole:master\r\n", nil)
	s := newFakeServer(t, func(command string, args []string) string {
		if command == "FUNCTION LOAD" && args[len(args)-1] != "" {
			loads.Add(1)
			return hangUp
		}
		return plain(command, args)
	})
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: 3})
	defer client.Close()
	_, err := loader.Ensure(t.Context(), client, lib)
	says(t, err, loader.ErrOutcomeUnknown)
	equal(t, "loads", int32(1), loads.Load())
}

func TestLoad_stopsAfterNodeIsLost(t *testing.T) {
	var gone atomic.Bool
	plain := answers("redis_version:7.2.0\r\nrole:master\r\n", nil)
	s := newFakeServer(t, func(command string, args []string) string {
		if gone.Load() || command == "FUNCTION LOAD" && args[len(args)-1] != "" {
			gone.Store(true)
			return hangUp
		}
		return plain(command, args)
	})
	client := impatient(t, s.addr)
	r, err := apply(client, plan(t, client, bundle("shop", "1.0.0", "buy"), bundle("other", "1.0.0", "look")), loader.ApplyOptions{})
	equal(t, "outcomes", []string{"shop_v1 failed outcome_unknown", "other_v1 not_started unreachable"}, outcomes(r))
	if !isReason(err, loader.ErrOutcomeUnknown) || !isReason(err, loader.ErrUnreachable) {
		t.Errorf("error does not hold both: %v", err)
	}
}
