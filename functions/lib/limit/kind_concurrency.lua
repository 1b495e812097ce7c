--- A limit of requests at the same time as a kind of limit: a request holds its places until it releases them or its lease ends.
---
--- The window is the lease, and the cost is the number of places. reset_after is what the lease of the call's own places has left,
--- 0 without one. A repeat of a receipt holds places of its own, because its first call may still be running.
--- @use refusal holder_set
--- @lib kind_concurrency
local kind_concurrency = {redis_type = 'zset', needs_clock = true, weighted = true, counts_repeats = true}

function kind_concurrency.prepare(row)
  row.most = math.min(row.limit, 1000) -- places of one holder
end

-- An empty holder has no place: for calls that charge nothing.
function kind_concurrency.check(row, key, cost, clock_us, answer)
  local holder = answer.holder
  if not holder then
    return refusal.argument('kind must not be concurrency without a holder')
  end
  local set = holder_set.check(key, holder, cost, row.limit, clock_us)
  answer.holders = set
  answer.allowed = set.allowed
  answer.remaining = set.left
  answer.reset_after_us = math.max(set.own_ends_us - clock_us, 0)
  answer.retry_after_us = set.wait_us
end

function kind_concurrency.charge(row, key, cost, clock_us, answer)
  local set, ends_us = answer.holders, clock_us + row.window_us
  if set.own_ends_us == 0 then
    holder_set.add(set, answer.holder, cost, ends_us)
    answer.reset_after_us = row.window_us
    return
  end
  answer.remaining = answer.remaining + cost -- its places were in use before
  if ends_us > set.own_ends_us then
    holder_set.extend(key, answer.holder, ends_us, clock_us)
  end
  answer.reset_after_us = math.max(ends_us, set.own_ends_us) - clock_us
end

-- Releases the holder's places.
function kind_concurrency.refund(_, key, _, clock_us, _, holder)
  local held = holder_set.ends_us(key, holder, clock_us) > 0
  if held then
    holder_set.remove(key, holder)
  end
  return held
end

return kind_concurrency
