package property_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestMain(m *testing.M) { engines.Main(m) }

type (
	attemptParams = abuse.AttemptParams
	attemptResult = abuse.AttemptResult
	attemptTier   = abuse.AttemptTiers
	attemptRow    = abuse.AttemptTiersResult
	issueParams   = challenge.IssueParams
	issueResult   = challenge.IssueResult
	checkLimit    = ratelimit.Limit
	checkResult   = ratelimit.CheckResult
	checkRow      = ratelimit.LimitResult
	checkParams   = suites.CheckParams
	windowParams  = ratelimit.FixedWindowParams
	windowResult  = ratelimit.FixedWindowResult
	gcraParams    = ratelimit.GCRAParams
	gcraResult    = ratelimit.GCRAResult
	counterParams = ratelimit.SlidingCounterParams
	counterResult = ratelimit.SlidingCounterResult
	logParams     = ratelimit.SlidingLogParams
	logResult     = ratelimit.SlidingLogResult
	admitLimit    = guard.Limit
	admitParams   = suites.AdmitParams
	admitResult   = guard.AdmitResult
	admitRow      = guard.LimitResult
	admitBudget   = guard.BudgetResult
	admitTier     = guard.AdmitTiersResult
	guarded       = suites.Guarded
)

const day = 24 * time.Hour

func cost(n int64) *int64 { return &n }

var consumed = challenge.ConsumeResult{Outcome: challenge.ConsumeOutcomeConsumed}
