package luatest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// guardsByLimits are asked by admit_by_limits wherever a call names no more than that takes.
var guardsByLimits = func() (s suiteOf) {
	s = guards
	s.Client = func(server fcall.Caller, o fcall.Options) (guarded, error) {
		g, err := newGuarded(server, o)
		g.byLimits = true
		return g, err
	}
	return s
}()

// runBoth runs a table by admit and by admit_by_limits: where a request has a block and limits and no more, they are one.
func runBoth(t *testing.T, steps ...guardStep) {
	t.Helper()
	t.Run("admit", func(t *testing.T) { guards.Run(t, steps...) })
	t.Run("admit_by_limits", func(t *testing.T) { guardsByLimits.Run(t, steps...) })
}

// byLimits is a call with what admit_by_limits takes of it; false where it has more.
func byLimits(p admitParams) (few guard.AdmitByLimitsParams, whole bool) {
	few = guard.AdmitByLimitsParams{Bucket: p.Bucket, Receipt: p.Receipt, Dedup: p.Dedup}
	for _, l := range p.Limits {
		few.Limits = append(few.Limits, guard.AdmitByLimitsLimits{
			Name: l.Name, Kind: guard.AdmitByLimitsLimitsKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: l.Cost, Shadow: l.Shadow,
		})
	}
	return few, len(p.Budgets) == 0 && len(p.Tiers) == 0 && p.Challenge == "" && !p.ChallengeRequired
}

// asAdmit is an answer of admit_by_limits as admit gives it.
func asAdmit(r guard.AdmitByLimitsResult) admitResult {
	all := admitResult{Allowed: r.Allowed, Duplicate: r.Duplicate, Reason: guard.AdmitReason(r.Reason), Tier: r.Tier, RetryAfter: r.RetryAfter}
	for _, row := range r.Limits {
		all.Limits = append(all.Limits, admitRow(row))
	}
	return answered(all)
}

func queueByLimits(p guard.AdmitByLimitsParams) func(context.Context, guarded, redis.Pipeliner) func() (any, error) {
	return func(ctx context.Context, g guarded, pipe redis.Pipeliner) func() (any, error) {
		pending := g.guard.QueueAdmitByLimits(ctx, pipe, p)
		return func() (any, error) {
			r, err := pending.Result()
			if err != nil {
				return admitResult{}, err
			}
			return asAdmit(r), nil
		}
	}
}

// limitsOnWire is a legal call with every argument.
func limitsOnWire() guard.AdmitByLimitsParams {
	few, _ := byLimits(admitParams{Bucket: "u1", Receipt: "r1", Dedup: 2 * time.Second, Limits: guardLimits(5)})
	return few
}

// A key that can not be read refuses before anything is written, whichever it is.
func TestAdmitByLimits_unreadableKeysAreToldAndNothingIsWritten(t *testing.T) {
	call := admit(admitParams{Receipt: "s", Limits: guardLimits(5)})
	var steps []guardStep
	for _, suffix := range []string{"checked", "block", "sliding_log:a", "sliding_counter:a", "fixed_window:a", "gcra:a"} {
		steps = append(steps, guardStep{Name: suffix, Given: wrongType(guardKey(suffix)), Call: call, WantErr: fcall.ErrState})
	}
	for _, step := range steps {
		t.Run(step.Name, func(t *testing.T) { guardsByLimits.Run(t, step) })
	}
}

func TestAdmitByLimits_aBlockRefusesWhateverElse(t *testing.T) {
	call := admit(admitParams{Receipt: "r", Limits: []admitLimit{perLog("minute", 5, time.Minute)}})
	runBoth(
		t,
		guardStep{Call: by(itsAbuse, (*abuse.Client).Block, abuse.BlockParams{Bucket: "u1", Duration: time.Minute}), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: time.Minute}},
		guardStep{Name: "nothing is charged", Call: call, Want: answered(admitResult{Reason: guard.AdmitReasonBlocked, RetryAfter: time.Minute})},
		guardStep{Name: "to its end", Advance: time.Minute - time.Millisecond, Call: call, Want: answered(admitResult{Reason: guard.AdmitReasonBlocked, RetryAfter: time.Millisecond})},
		guardStep{Name: "and no longer", Advance: time.Millisecond, Call: call, Writes: true, Want: passes(admitRow{Allowed: true, Remaining: 4, ResetAfter: time.Minute, Mark: markAt(2 * time.Minute)})},
	)
}
