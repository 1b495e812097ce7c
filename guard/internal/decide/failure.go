package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Verdict is the result of the failure modes of all undecided parts of a query.
type Verdict struct {
	FailClosed    []string // undecided parts whose failure mode is closed
	LocalFallback LocalPart
}

// ApplyFailureModes applies the policy's failure modes to the calls that Redis did not decide.
func ApplyFailureModes(q *Query) Verdict {
	var v Verdict
	ep := q.Endpoint
	apply := func(f policy.OnFailure, name string, decideLocally func()) {
		switch f {
		case policy.Closed:
			if !slices.Contains(v.FailClosed, name) {
				v.FailClosed = append(v.FailClosed, name)
			}
		case policy.Local:
			decideLocally()
		}
	}
	for i := range q.Calls {
		c := &q.Calls[i]
		if c.Err == nil {
			continue
		}
		for n := range c.Limits.Rows.All() {
			apply(ep.Rows[n].OnFailure, ep.Rows[n].Name, func() { v.LocalFallback.Rows |= 1 << n })
		}
		if c.Budgets != nil {
			for n := range c.Budgets.Rows.All() {
				b := ep.Budget(n)
				apply(b.OnFailure, b.Name, func() { v.LocalFallback.Budgets |= 1 << n })
			}
		}
		if c.Params.Block != "" {
			apply(ep.Block.OnFailure, ep.Block.Name, func() { v.LocalFallback.Attempts = true })
		}
		if c.Challenge {
			apply(ep.OnChallenge, "challenge", func() {})
		}
	}
	return v
}

// Undecided reports whether err leaves the request undecided: Redis did not answer, could not evaluate the call, or its answer is
// unreadable. It does so for every error but those of an argument or a key, which the caller or an operator must correct.
func Undecided(err error) bool {
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
	if !Undecided(err) || clockOff(err) {
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

// NewLocal starts an embedded engine whose keys use at most the given heap. It evicts the least recently used keys.
func NewLocal(namespace string, bytes int64, clock embedded.Clock) (*guard.Client, error) {
	server := embedded.New(embedded.Options{Clock: clock})
	ctx := context.Background()
	run := func(cmd redis.Cmder) error {
		if err := server.Process(ctx, cmd); err != nil {
			return fmt.Errorf("start the local engine: %w", err)
		}
		return nil
	}
	if err := run(redis.NewStringCmd(ctx, "function", "load", guard.Library.Code)); err != nil {
		return nil, err
	}
	if err := run(redis.NewStatusCmd(ctx, "config", "set", "maxmemory", server.UsedMemory()+bytes, "maxmemory-policy", "allkeys-lru")); err != nil {
		return nil, err
	}
	client, err := guard.New(server, fcall.Options{Namespace: namespace, NoAutoLoad: true})
	if err != nil {
		return nil, fmt.Errorf("start the local engine: %w", err)
	}
	return client, nil
}
