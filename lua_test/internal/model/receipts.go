package model

import "maps"

// receipts are a subject's receipts that were counted, kept for the longest dedup of the calls that counted one for as long as
// the key is there. The zero one means that there is no key.
type receipts struct {
	seen    map[string]seenReceipt
	longest int64
	endMS   int64 // the millisecond in which they expire
}

// A seenReceipt was counted at a time, or renewed then by a duplicate.
type seenReceipt struct {
	at      int64
	renewed bool
}

// From 2112 on a time is stored to the microsecond and no finer: it does not show that a receipt was renewed.
const renewalsEnd = 1 << 52

// known says when a receipt was seen, if that is less than dedup ago. One from further ahead is from a wrong clock.
func (r receipts) known(receipt string, now, dedup int64) (at int64, ok bool) {
	seen, ok := r.seen[receipt]
	return seen.at, ok && receipt != "" && now-dedup < seen.at && seen.at <= now+dedup
}

// count adds a receipt at now, which may be ahead of the clock, after those that are older than the longest dedup are gone.
func (r receipts) count(receipt string, now, dedup, clock int64) receipts {
	r = r.note(receipt, seenReceipt{at: now}, dedup, clock)
	maps.DeleteFunc(r.seen, func(one string, seen seenReceipt) bool { return one != receipt && seen.at <= now-r.longest })
	return r
}

// renew lets a receipt be seen at now.
func (r receipts) renew(receipt string, now, dedup, clock int64) receipts {
	return r.note(receipt, seenReceipt{at: now, renewed: now < renewalsEnd}, dedup, clock)
}

func (r receipts) note(receipt string, seen seenReceipt, dedup, clock int64) receipts {
	r.seen = maps.Clone(r.seen)
	if r.seen == nil {
		r.seen = map[string]seenReceipt{}
	}
	r.seen[receipt] = seen
	r.longest = max(r.longest, dedup)
	r.endMS = expiry(clock, r.longest+max(seen.at-clock, 0))
	return r
}

// forget forgets a receipt; the longest dedup stays.
func (r receipts) forget(receipt string) receipts {
	r.seen = maps.Clone(r.seen)
	delete(r.seen, receipt)
	return r
}
