package steps_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/gen/concurrency"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type ctxOf = context.Context

// sameKeys holds that no key, byte or expiry has changed.
func sameKeys(t *testing.T, s *luatest.Server, before map[string]luatest.Key) {
	t.Helper()
	after, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
}

var everyLibrary = []*fcall.Library{ratelimit.Library, budget.Library, abuse.Library, challenge.Library, concurrency.Library, override.Library, guard.Library}

// Mistake 13: a clock taken from the client. No argument of any function is a time of day, but that by which refund finds an entry
// that a server's clock has made.
func TestMistake13_noTimeFromTheCaller(t *testing.T) {
	// The boundaries of a quota or a budget are not a clock: the server's decides which period it is.
	boundary := regexp.MustCompile(`^--- @arg +(limits\.)?(previous|start|next|after) +time\b`)
	for _, lib := range everyLibrary {
		for _, arg := range regexp.MustCompile(`(?m)^--- @arg +\S+ +time\b.*$`).FindAllString(lib.Code, -1) {
			if !strings.HasSuffix(arg, " when the call was decided, from its result") && !strings.Contains(arg, "from the call's result") && !boundary.MatchString(arg) {
				t.Errorf("%s takes a time: %s", lib.Name, arg)
			}
		}
	}
}

// Mistake 15: a random number for uniqueness. Tokens come from the system's source, and no Lua makes any.
func TestMistake15_noRandomNumbersInLua(t *testing.T) {
	for _, lib := range everyLibrary {
		if strings.Contains(lib.Code, "math.random") {
			t.Errorf("%s uses math.random", lib.Name)
		}
	}
}
