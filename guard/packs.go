package guard

import (
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// A rowSet is some of a plan's rows, by their places.
type rowSet uint32

func (s rowSet) has(i int) bool { return s>>i&1 == 1 }

// place is where a row of the set stands among its rows.
func (s rowSet) place(i int) int { return bits.OnesCount64(uint64(s) & (1<<i - 1)) }

// cut parts the first n rows from the rest.
func (s rowSet) cut(n int) (first, rest rowSet) {
	for i := range s.all() {
		if first.place(32) == n {
			return first, s &^ first
		}
		first |= 1 << i
	}
	return first, 0
}

func (s rowSet) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for left := uint32(s); left != 0; left &= left - 1 {
			if !yield(bits.TrailingZeros32(left)) {
				return
			}
		}
	}
}

// packs are the constant parts of calls: each that occurs is made once. A client chooses which claimed identities its request has, so their
// number is bounded.
type packs struct {
	limits   sync.Map // limitsKey to *packedLimits
	accounts sync.Map // accountKey to *packedAccount
	made     atomic.Int64
}

const mostPacks = 1024

type limitsKey struct {
	rows  rowSet
	local bool
	times string // how many times its limit each row has, a byte sequence; "" for once
}

// packedLimits are some rows of a plan.
type packedLimits struct {
	pack   guard.LimitPack
	states []LimitState // a row for each limit, as far as the policy says
}

type accountKey struct {
	local bool
	times int64
}

// packedAccount are a plan's budgets.
type packedAccount struct {
	pack   guard.AdmitBudgetsPack
	states []BudgetState
}

// pack returns rows of a plan: those of this process's share where local is set, and times what the overrides multiply.
func (pl *plan) pack(rows rowSet, local bool, times []int64) *packedLimits {
	key := limitsKey{rows: rows, local: local, times: timesText(rows, times)}
	if p, ok := pl.packs.limits.Load(key); ok {
		return p.(*packedLimits)
	}
	p := new(packedLimits)
	var limits []guard.Limit
	for i := range rows.all() {
		r := &pl.rows[i]
		limit, state := r.limit, r.state
		if local {
			limit.Limit, limit.Burst = shareOf(limit.Limit, r.share), shareOf(limit.Burst, r.share)
		}
		if times != nil && !limit.Global {
			limit.Limit, limit.Burst = limit.Limit*times[i], limit.Burst*times[i]
		}
		state.Limit, state.Burst = limit.Limit, limit.Burst
		limits, p.states = append(limits, limit), append(p.states, state)
	}
	p.pack = guard.MustPackLimit(limits...)
	pl.packs.keep(&pl.packs.limits, key, p)
	return p
}

// timesText is "" where every row has its limit once.
func timesText(rows rowSet, times []int64) string {
	if times == nil {
		return ""
	}
	var text []byte
	more := false
	for i := range rows.all() {
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

// packAccount returns the budgets of a plan.
func (pl *plan) packAccount(local bool, times int64) *packedAccount {
	key := accountKey{local, times}
	if p, ok := pl.packs.accounts.Load(key); ok {
		return p.(*packedAccount)
	}
	p := new(packedAccount)
	var budgets []guard.AdmitBudgets
	for _, b := range pl.budgets {
		if local {
			b.Budget = fcall.Micros(shareOf(int64(b.Budget), pl.share))
		}
		b.Budget *= fcall.Micros(times)
		p.states = append(p.states, b)
		budgets = append(budgets, guard.AdmitBudgets{Budget: b.Budget, Window: b.Window})
	}
	p.pack = guard.MustPackAdmitBudgets(budgets...)
	pl.packs.keep(&pl.packs.accounts, key, p)
	return p
}

func (ps *packs) keep(in *sync.Map, key, p any) {
	if ps.made.Load() < mostPacks {
		ps.made.Add(1)
		in.Store(key, p)
	}
}
