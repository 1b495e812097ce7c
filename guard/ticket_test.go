package guard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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
