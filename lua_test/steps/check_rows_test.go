package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// Rows of one kind and name are two limits where their subjects differ, and one where they do not.
func TestCheck_limitsOfSeveralSubjects(t *testing.T) {
	limit := logLimit("a", 2, time.Minute)
	of := func(subjects ...fcall.Subject) checkParams {
		return checkParams{Subject: "u1", Limits: []checkLimit{limit, limit}, Of: subjects}
	}
	one := checkRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute}
	limiters.Run(
		t,
		step{Call: checks(of("u2", "u3")), Writes: true, TTLs: ttls{key("u2", "sliding_log:a"): time.Minute, key("u3", "sliding_log:a"): time.Minute}, Want: checkResult{Allowed: true, Limits: []checkRow{one, one}}},
		step{Name: "the call's own", Call: checks(of("u1", "u2")), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{one, {Allowed: true, ResetAfter: time.Minute}}}},
		step{Name: "one limit twice", Call: checks(of("u2", "u2")), WantErr: fcall.ErrArgument},
		step{Name: "a subject too few", Call: checks(of("u2")), WantErr: fcall.ErrArgument},
		step{Call: luatest.Call((*ratelimit.Client).CheckReset, of("u2", "u4").Reset()), Writes: true, Want: ratelimit.CheckResetResult{Existed: true}, TTLs: ttls{
			key("u1", "sliding_log:a"): time.Minute, key("u3", "sliding_log:a"): time.Minute,
		}},
	)
}
