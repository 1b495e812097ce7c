package loader_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

func TestValidate_listsMismatches(t *testing.T) {
	type misfit struct {
		Library string
		State   loader.State
		Found   string
		Serves  bool
	}
	older, newer, drifted := bundle("older", "1.2.0", "f"), bundle("newer", "1.2.0", "f"), bundle("drifted", "1.2.0", "f")
	missing, same := bundle("missing", "1.2.0", "f"), bundle("same", "1.2.0", "f")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		put(t, client, bundle("older", "1.1.0", "f").Code)
		put(t, client, bundle("newer", "1.3.0", "f").Code)
		put(t, client, edited(drifted, "return '1.2.0'", "return 'x'").Code)
		put(t, client, same.Code)
		found, err := loader.Validate(t.Context(), client, older, newer, drifted, missing, same)
		if err != nil {
			t.Fatal(err)
		}
		var got []misfit
		for _, m := range found {
			if m.Addr != e.Addr || m.Problem != nil {
				t.Errorf("%s is on %s, with %v", m.Library, m.Addr, m.Problem)
			}
			got = append(got, misfit{m.Library, m.State, m.Found, m.Serves})
		}
		equal(t, "mismatches", []misfit{
			{"older_v1", loader.Older, "1.1.0", false},
			{"newer_v1", loader.Newer, "1.3.0", true},
			{"drifted_v1", loader.Drifted, "1.2.0", false},
			{"missing_v1", loader.Missing, "", false},
		}, got)
		if none, err := loader.Validate(t.Context(), client, same); len(none) != 0 || err != nil {
			t.Errorf("of a library that is there: %v, %v", none, err)
		}
	})
}

func TestValidate_reportsUnreadableNode(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer c.Close()
	got, err := loader.Validate(t.Context(), c, bundle("shop", "1.2.0", "buy"))
	if err != nil || len(got) != 1 || got[0].State != loader.Unknown || got[0].Problem == nil || got[0].Problem.Reason != loader.ErrUnreachable {
		t.Errorf("%+v, %v", got, err)
	}
}
