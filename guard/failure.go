package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Causes of a fallback and of an [UnavailableError], besides the errors of package fcall.
var (
	// ErrTimeout means that Redis did not answer within the policy's timeout.
	ErrTimeout = errors.New("no answer from Redis within the timeout")
	// ErrBreaker means that the circuit breaker of the node is open.
	ErrBreaker = errors.New("circuit breaker is open")
	// ErrBusy means that Options.MaxInFlight calls were already unanswered.
	ErrBusy = errors.New("too many calls are in flight")
)

// ErrUnavailable means that failure mode closed rejected the request. The error is an [*UnavailableError].
var ErrUnavailable = errors.New("limit not decided")

// An UnavailableError rejects a request because Redis did not decide a limit whose failure mode is closed. It is not a refusal: the limit
// may have had room.
type UnavailableError struct {
	Endpoint string
	Closed   []string // names of limits, budgets and blocks, and "challenge"
	Cause    error
}

// Error returns the undecided limits and the cause.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("decide %s: Redis did not decide %s, and its failure mode is closed: %v", e.Endpoint, strings.Join(e.Closed, ", "), e.Cause)
}

// Is reports whether target is ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// applyFailureModes applies failure modes to the calls that Redis left undecided.
func (g *Guard) applyFailureModes(ctx context.Context, d *Decision, q *ask, cause error) error {
	verdict := failureModes(q)
	g.compose(d, q)
	if d.Allowed && q.plan.params.ChallengeRequired && (q.request.Challenge == "" || q.challenge == "") {
		d.Allowed, d.Reason, d.Challenge, d.Refused = false, ReasonChallenge, string(genguard.AdmitChallengeAbsent), q.challenge // needs no Redis
	}
	if !d.Allowed {
		return nil // a refusal by Redis stands
	}
	if len(verdict.failClosed) > 0 {
		return &UnavailableError{Endpoint: d.Endpoint, Closed: verdict.failClosed, Cause: cause}
	}
	d.Cause = cause
	d.Fallback = FallbackOpen
	if verdict.localFallback.any() {
		d.Fallback = FallbackLocal
		g.decideLocally(ctx, d, q, verdict.localFallback)
	}
	return nil
}

// decideLocally asks the embedded engine for this process's share. The engine answers at once, so it gets a context without end, which
// saves a goroutine. Redis does not learn of these charges.
func (g *Guard) decideLocally(ctx context.Context, d *Decision, undecided *ask, part localPart) {
	processes := 0
	if g.options.Processes != nil {
		processes = g.options.Processes()
	}
	q := undecided.local(part, share{local: true, processes: processes})
	q.run(context.WithoutCancel(ctx), g.local.Load())
	for i := range q.calls {
		c := &q.calls[i]
		if c.err != nil { // the weight exceeds this process's share, or one key exceeds its memory
			d.Allowed, d.Reason = false, ReasonLimit
			d.Cause = errors.Join(d.Cause, c.err)
			break
		}
		d.addCall(q, c)
	}
	d.addLimits(q)
	d.adjustPlaceWait()
	d.addBudgets(q)
	if d.Allowed {
		g.hold(d, q, &g.localPlaces)
		return
	}
	for i := range q.calls {
		if c := &q.calls[i]; c.err == nil && c.result.Allowed {
			if p, ok := q.placesOf(c); ok {
				g.localPlaces.hold(p, q.sent, func() {}).release()
			}
		}
	}
}

// A verdict is the result of the failure modes of all undecided parts of a query.
type verdict struct {
	failClosed    []string // undecided parts whose failure mode is closed
	localFallback localPart
}

// failureModes applies the policy's failure modes to the calls that Redis did not decide.
func failureModes(q *ask) verdict {
	var v verdict
	plan := q.plan
	apply := func(f policy.OnFailure, name string, decideLocally func()) {
		switch f {
		case policy.Closed:
			if !slices.Contains(v.failClosed, name) {
				v.failClosed = append(v.failClosed, name)
			}
		case policy.Local:
			decideLocally()
		}
	}
	for i := range q.calls {
		c := &q.calls[i]
		if c.err == nil {
			continue
		}
		for n := range c.limits.rows.all() {
			apply(plan.rows[n].onFailure, plan.rows[n].name, func() { v.localFallback.rows |= 1 << n })
		}
		if c.budgets != nil {
			for n := range c.budgets.rows.all() {
				b := plan.budgetPolicy(n)
				apply(b.OnFailure, b.Name, func() { v.localFallback.budgets |= 1 << n })
			}
		}
		if c.params.Block != "" {
			apply(plan.block.OnFailure, plan.block.Name, func() { v.localFallback.attempts = true })
		}
		if c.challenge {
			apply(plan.onChallenge, "challenge", func() {})
		}
	}
	return v
}

// isUndecided reports whether err leaves the request undecided: Redis did not answer, could not evaluate the call, or its answer is
// unreadable. It does so for every error but those of an argument or a key, which the caller or an operator must correct.
func isUndecided(err error) bool {
	return err != nil && (clockOff(err) || !errors.Is(err, fcall.ErrArgument) && !errors.Is(err, fcall.ErrState))
}

// clockOff reports whether Redis rejected the boundaries of a quota or budget, because the clock of this process or of Redis is wrong by more than a
// period. Guard computes the boundaries, so no other reason is left.
func clockOff(err error) bool {
	var wrong *fcall.ArgumentError
	return errors.As(err, &wrong) && (strings.HasPrefix(wrong.Name, "limits.") || strings.HasPrefix(wrong.Name, "budgets.")) &&
		(strings.HasSuffix(wrong.Name, ".previous") || strings.HasSuffix(wrong.Name, ".after"))
}

// liveServerCodes are errors of a server that still decides other calls.
var liveServerCodes = map[string]bool{
	"OOM": true, "NOPERM": true, "NOAUTH": true, "WRONGPASS": true, "DENIED": true, "MISCONF": true, "NOREPLICAS": true, "CROSSSLOT": true,
}

// serverLost reports whether err means that the server does not answer.
func serverLost(err error) bool {
	if !isUndecided(err) || clockOff(err) {
		return false
	}
	for _, answered := range []error{fcall.ErrScript, fcall.ErrReply, fcall.ErrNotLoaded, fcall.ErrUnsupported} {
		if errors.Is(err, answered) {
			return false
		}
	}
	var refused *fcall.UnavailableError
	return !errors.As(err, &refused) || !liveServerCodes[refused.Code]
}

// newLocal starts an embedded engine whose keys use at most the given heap. It evicts the least recently used keys.
func newLocal(namespace string, bytes int64, clock embedded.Clock) (*genguard.Client, error) {
	server := embedded.New(embedded.Options{Clock: clock})
	ctx := context.Background()
	run := func(cmd redis.Cmder) error {
		if err := server.Process(ctx, cmd); err != nil {
			return fmt.Errorf("start the local engine: %w", err)
		}
		return nil
	}
	if err := run(redis.NewStringCmd(ctx, "function", "load", genguard.Library.Code)); err != nil {
		return nil, err
	}
	if err := run(redis.NewStatusCmd(ctx, "config", "set", "maxmemory", server.UsedMemory()+bytes, "maxmemory-policy", "allkeys-lru")); err != nil {
		return nil, err
	}
	client, err := genguard.New(server, fcall.Options{Namespace: namespace, NoAutoLoad: true})
	if err != nil {
		return nil, fmt.Errorf("start the local engine: %w", err)
	}
	return client, nil
}
