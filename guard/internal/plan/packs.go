package plan

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// packs are the constant parts of calls: each that occurs is made once. A client chooses which claimed identities its request has, so their
// number is bounded.
type packs struct {
	limits   sync.Map // limitsKey to *Limits
	accounts sync.Map // accountKey to *Account
	made     atomic.Int64
}

const mostPacks = 1024

func (ps *packs) keep(in *sync.Map, key, p any) {
	if ps.made.Load() < mostPacks {
		ps.made.Add(1)
		in.Store(key, p)
	}
}

// A Share says who decides: Redis all of a limit, or this process its share of it.
type Share struct {
	Here      bool
	Processes int // that decide, as far as it is known
}

// of is what may be taken of a limit: all of it, or the part that is configured for one process, or an even part if that is more; rounded down,
// and at least 1.
func (s Share) of(limit int64, configured float64) int64 {
	if !s.Here || limit == 0 {
		return limit
	}
	if s.Processes > 0 {
		configured = max(configured, 1/float64(s.Processes))
	}
	return max(1, int64(math.Floor(float64(limit)*configured)))
}

type limitsKey struct {
	rows  RowSet
	share Share
	times string // how many times its limit each row has, a byte sequence; "" for once
}

// Limits are some rows of a plan, as a call has them.
type Limits struct {
	Rows RowSet
	Pack guard.LimitPack
	Each []guard.Limit
}

// Limits returns rows of a plan.
func (pl *Plan) Limits(w *Whom, rows RowSet, share Share) *Limits {
	key := limitsKey{rows: rows, share: share, times: timesText(rows, w.Times)}
	if p, ok := pl.packs.limits.Load(key); ok {
		return p.(*Limits)
	}
	p := &Limits{Rows: rows}
	for i := range rows.All() {
		r := &pl.Rows[i]
		limit := r.Limit
		limit.Limit, limit.Burst = share.of(limit.Limit, r.share), share.of(limit.Burst, r.share)
		if w.Times != nil && !limit.Global {
			limit.Limit, limit.Burst = policy.MultiplyLimit(limit.Limit, w.Times[i]), policy.MultiplyLimit(limit.Burst, w.Times[i])
		}
		p.Each = append(p.Each, limit)
	}
	p.Pack = guard.MustPackLimit(p.Each...)
	pl.packs.keep(&pl.packs.limits, key, p)
	return p
}

// timesText is "" where every row has its limit once.
func timesText(rows RowSet, times []int64) string {
	if times == nil {
		return ""
	}
	var text []byte
	more := false
	for i := range rows.All() {
		more = more || times[i] != 1
		for n := times[i]; ; n >>= 7 {
			text = append(text, byte(n&0x7f))
			if n < 0x80 {
				break
			}
			text[len(text)-1] |= 0x80
		}
	}
	if !more {
		return ""
	}
	return string(text)
}

type accountKey struct {
	share Share
	times int64
}

// An Account is a plan's budgets, as a call has them.
type Account struct {
	Pack     guard.AdmitBudgetsPack
	Each     []Budget
	Settling []cost.SettleLimits // the same for the settlement
}

// Account returns the budgets of a plan.
func (pl *Plan) Account(w *Whom, share Share) *Account {
	key := accountKey{share, w.Budgets}
	if p, ok := pl.packs.accounts.Load(key); ok {
		return p.(*Account)
	}
	p := new(Account)
	var budgets []guard.AdmitBudgets
	for _, b := range pl.budgets {
		b.Budget = fcall.Micros(policy.MultiplyBudget(policy.Micros(share.of(int64(b.Budget), pl.share)), w.Budgets))
		p.Each = append(p.Each, b)
		p.Settling = append(p.Settling, cost.SettleLimits{Budget: b.Budget, Window: b.Window})
		budgets = append(budgets, guard.AdmitBudgets{Budget: b.Budget, Window: b.Window})
	}
	p.Pack = guard.MustPackAdmitBudgets(budgets...)
	pl.packs.keep(&pl.packs.accounts, key, p)
	return p
}
