package faults

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/lua_test/engines"
)

// Somebody else's FUNCTION FLUSH takes the libraries and leaves the keys: callers load them again, and no call fails.
func TestFunctionFlush_failsNoCall(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	tr := begin(t, to(t, m))
	if err := m.Client(t).FunctionFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	tr.awaitAnswers(t, 1000)
	r := tr.end(t)
	r.none(t)
	r.nothingDestroyed(t)
	if libs := m.Client(t).FunctionList(t.Context(), redis.FunctionListQuery{}).Val(); len(libs) != 4 {
		t.Errorf("the server holds %d libraries again, want 4", len(libs))
	}
}
