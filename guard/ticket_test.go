package guard_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestTicket_anotherProcessRefundsOnce(t *testing.T) {
	rdb, _ := inProcess(t)
	p := budgeted()
	p.Endpoints[0].Limits = []policy.Limit{
		{Name: "hour", Limit: 5, Window: time.Hour, Kind: policy.SlidingLog},
		{Name: "all", By: policy.By{policy.ByAll}, Limit: 20, Window: time.Hour, Kind: policy.GCRA},
		{Name: "wide", Limit: 9, Window: time.Hour, Kind: policy.FixedWindow},
	}
	g, other := newGuard(t, rdb, p, guard.Options{}), newGuard(t, rdb, p, guard.Options{})
	left := func() (left [4]int64) {
		d := decide(t, other, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Refundable: true})
		for i, l := range d.Limits {
			left[i] = l.Remaining
		}
		left[3] = int64(d.Budgets[0].Spent)
		if refunded, err := other.Refund(t.Context(), d.Ticket()); !refunded || err != nil {
			t.Fatal(refunded, err)
		}
		return left
	}
	before := left()
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "r1", Weight: 2, Refundable: true})
	if after := left(); after == before {
		t.Fatalf("the decision charged nothing: %v", after)
	}
	ticket := d.Ticket()
	for i, g := range []*guard.Guard{other, g} {
		if refunded, err := g.Refund(t.Context(), ticket); refunded != (i == 0) || err != nil {
			t.Errorf("refund %d: %v %v", i+1, refunded, err)
		}
	}
	if after := left(); after != before {
		t.Errorf("after the refund: %v, want %v", after, before)
	}
	if again := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "r1"}); again.Duplicate {
		t.Error("a refunded receipt is known")
	}
}

// hangingUp ends the context of a refund once its ticket is used up.
type hangingUp struct{ context.CancelFunc }

func (hangingUp) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hangingUp) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.CancelFunc()
		return err
	}
}

func (hangingUp) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A caller that hangs up once its ticket is used up does not leave the charges.
func TestTicket_hangUpRefundsAll(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "hour", Limit: 2, Window: time.Hour}), guard.Options{})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Refundable: true}
	ticket := decide(t, g, r).Ticket()
	ctx, cancel := context.WithCancel(t.Context())
	rdb.AddHook(hangingUp{cancel})
	if refunded, err := g.Refund(ctx, ticket); !refunded || err != nil {
		t.Error(refunded, err)
	}
	if left := decide(t, g, r).Limits[0].Remaining; left != 1 {
		t.Errorf("%d left of 2 after a refund and a request", left)
	}
}

// Tickets and leases are those of one namespace: in another one they change nothing.
func TestTicket_isOfItsNamespace(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "hour", Limit: 5, Window: time.Hour}, policy.Limit{Name: "streams", Kind: policy.Concurrency, Limit: 5})
	q := *p
	q.Namespace = "other"
	g, other := newGuard(t, rdb, p, guard.Options{}), newGuard(t, rdb, &q, guard.Options{})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Refundable: true}
	mine := decide(t, g, r)
	decide(t, other, r)
	lease, _ := mine.Lease()
	for _, err := range []error{
		second(other.Refund(t.Context(), mine.Ticket())), second(other.RenewLease(t.Context(), lease)), second(other.ReleaseLease(t.Context(), lease)),
	} {
		if !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), "of a decision in namespace other") {
			t.Error(err)
		}
	}
	for i, l := range decide(t, other, r).Limits {
		if l.Remaining != 3 {
			t.Errorf("limit %d has %d left of 5 after two requests", i, l.Remaining)
		}
	}
	if refunded, err := g.Refund(t.Context(), mine.Ticket()); !refunded || err != nil {
		t.Errorf("in its own namespace: %v %v", refunded, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestTicket_rejectsOtherText(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{})
	for _, text := range []string{"", "x", "e30", "bnVsbA", strings.Repeat("a", 1<<20)} {
		if _, err := g.Refund(t.Context(), text); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if ticket := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}).Ticket(); ticket != "" {
		t.Errorf("a decision that is not refundable has the ticket %s", ticket)
	}
}
