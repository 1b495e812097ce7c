package wire_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestMain(m *testing.M) { engines.Main(m) }

type (
	attemptParams = abuse.AttemptParams
	attemptTier   = abuse.AttemptTiers
	issueParams   = challenge.IssueParams
	checkParams   = suites.CheckParams
	windowParams  = ratelimit.FixedWindowParams
	gcraParams    = ratelimit.GCRAParams
	counterParams = ratelimit.SlidingCounterParams
	logParams     = ratelimit.SlidingLogParams
	admitParams   = suites.AdmitParams
)

const day = 24 * time.Hour

func cost(n int64) *int64 { return &n }
