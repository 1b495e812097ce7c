package policy

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheck_boundsOfEachKind(t *testing.T) {
	p := &Policy{
		Namespace: "a b", Timeout: time.Hour, OnFailure: "opne", Share: 1.5,
		Limits: []Limit{{Name: "a/b", Limit: 1_000_001, Window: time.Minute}, {}},
		Cost:   &Cost{Budgets: []Budget{{Name: "day", Budget: 2_000_000_000 * oneUnit, Window: day}}},
		Abuse:  &Abuse{Escalation: []time.Duration{0}},
		Endpoints: []Endpoint{{
			Name: "chat", Idempotency: &Idempotency{Header: "X Y", For: -time.Second}, Unbounded: true,
			Abuse:     "some",
			Challenge: &Challenge{Header: "X Y", OnFailure: Local},
		}},
		Overrides: Overrides{Deny: []string{"ip=10.0.0.1/8", ""}, Multiply: map[string]int64{"ip=10.0.0.1": 0}},
	}
	wantProblems(t, p.Check(), `
namespace: must be 1 to 64 of the characters A-Z a-z 0-9 _ - ., got "a b"
timeout: must be 1ms to 1m, got 1h
on_failure: must be open, closed or local, got "opne"; did you mean open?
share: must be above 0 and at most 1, got 1.5
limits[0].name: must be 1 to 32 of the characters A-Z a-z 0-9 _ -, got "a/b"
limits[0].limit: must be 1 to 1000000 for a sliding_log, got 1000001
limits[1].name: is required
limits[1].limit: is required
limits[1].window: is required
abuse.tiers: is required
abuse.escalation[0]: must be 1ms to 3650d, got 0s
endpoints[0].idempotency.header: must be a header name, got "X Y"
endpoints[0].idempotency.for: must be 1us to 3650d, got -1s
endpoints[0].abuse: must be all or refused, got "some"
endpoints[0].challenge.header: must be a header name, got "X Y"
endpoints[0].challenge.on_failure: must be open or closed, got "local"
overrides.deny[0]: must have no host bits set, as in 10.0.0.0/8, got "ip=10.0.0.1/8"
overrides.deny[1]: must be a subject of 1 to 512 bytes, such as user=42, got ""
overrides.multiply["ip=10.0.0.1"]: must be 1 to 1000000, got 0
cost.budgets[0].budget: must be at most 1000000000, got 2000000000
`)
}

func TestCheck_acceptsTheZeroPolicy(t *testing.T) {
	if err := new(Policy).Check(); err != nil {
		t.Error(err)
	}
}

// wantProblems compares an error with the expected lines.
func wantProblems(t *testing.T, err error, want string) {
	t.Helper()
	var e *Error
	got := ""
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("not a *policy.Error: %v", err)
	}
	if e != nil {
		got = "\n" + e.Error() + "\n"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s\ngot:%s", diff, got)
	}
}
