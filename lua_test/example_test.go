package luatest_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// A test of one's own library. With RLFUNC_TEST_REDIS_URL set it also runs on that server, whose database must be empty.
func ExampleSuite_Run() {
	suite := luatest.Suite[*ratelimit.Client]{
		Library: ratelimit.Library,
		Client:  ratelimit.New,
		Source:  functions.FS,
		Root:    functions.Root,
	}
	type step = luatest.Step[*ratelimit.Client]

	_ = func(t *testing.T) { // func TestFixedWindow_refusesUntilTheWindowEnds(t *testing.T)
		take := luatest.Call((*ratelimit.Client).FixedWindow, ratelimit.FixedWindowParams{Subject: "user42", Limit: 1, Window: time.Second})
		suite.Run(
			t,
			step{Call: take, Writes: true, Want: ratelimit.FixedWindowResult{Allowed: true, ResetAfter: time.Second}},
			step{Name: "one more", Call: take, Want: ratelimit.FixedWindowResult{RetryAfter: time.Second, ResetAfter: time.Second}},
			step{Name: "a new window", Advance: time.Second, Call: take, Writes: true, Want: ratelimit.FixedWindowResult{Allowed: true, ResetAfter: time.Second}},
		)
	}
}
