--- A limit of requests at the same time as a kind of limit: a request holds its places until it releases them or its lease ends.
---
--- The window is the lease, and the cost is the number of places. reset_after is what the lease of the call's own places has left,
--- 0 without one.
--- @use refusal holder_set
--- @lib kind_concurrency
local kind_concurrency = {redis_type = 'any', needs_clock = true, weighted = true}

-- The most places that one holder may have.
local most_places = 1000

function kind_concurrency.prepare(row)
  row.most = math.min(row.limit, most_places)
end

-- An empty holder has no place: for calls that charge nothing.
function kind_concurrency.check(row, key, cost, clock_us, answer, holder)
  if not holder then
    return nil, refusal.argument('kind must not be concurrency without a holder')
  end
  local allowed, left, lease_us, wait_us, set, own = holder_set.check(key, holder, cost, row.limit, clock_us)
  answer.holder = holder
  answer.holders = set
  answer.own = own
  return allowed, left, lease_us, wait_us
end

function kind_concurrency.charge(row, _, cost, clock_us, answer)
  local set, holder = answer.holders, answer.holder
  if not set or not holder then
    return 0
  end
  local _, ends_us = holder_set.acquire(set, answer.own, holder, cost, clock_us + row.window_us)
  if answer.own then
    answer.remaining = answer.remaining + cost -- its places were in use before
  end
  return ends_us - clock_us
end

-- Releases the holder's places.
function kind_concurrency.refund(_, key, _, _, _, _, clock_us, holder)
  holder_set.release(key, holder, 0, clock_us)
end

return kind_concurrency
