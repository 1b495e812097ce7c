--- A limit of requests at the same time as a kind of limit: a request holds its places until it releases them or its lease ends.
---
--- The window is the lease, and the cost is the number of places. reset_after is what the lease of the call's own places has left,
--- 0 without one.
--- @use refusal holder_set
--- @lib kind_concurrency
local kind_concurrency = {redis_type = 'any'}

-- The most places that one holder may have.
local most_places = 1000

function kind_concurrency.prepare(row)
  row.most = math.min(row.limit, most_places)
  row.needs_clock = true
  row.weighted = true
  return row
end

-- An empty holder has no place: for calls that charge nothing.
function kind_concurrency.check(row, key, cost, clock_us, answer, holder)
  if not holder then
    return nil, refusal.argument('kind must not be concurrency without a holder')
  end
  local set, own = holder_set.open(key, holder, clock_us)
  if not set then
    return nil, own
  end
  answer.holder = holder
  answer.holders = set
  answer.own = own
  local left = math.max(row.limit - set.in_use, 0)
  if own then
    return true, left, own.ends_us - clock_us, 0
  end
  local wait_us, unreadable = holder_set.wait_us(set, holder, cost, row.limit)
  if not wait_us then
    return nil, unreadable
  end
  return wait_us == 0, left, 0, wait_us
end

function kind_concurrency.charge(row, _, cost, clock_us, answer)
  local set, own, holder, ends_us = answer.holders, answer.own, answer.holder, clock_us + row.window_us
  if set and own then
    holder_set.extend(set, own, ends_us)
    answer.reset_after_us = own.ends_us - clock_us
  elseif set and holder then
    holder_set.add(set, holder, cost, ends_us)
    answer.remaining = answer.remaining - cost
    answer.reset_after_us = row.window_us
  end
end

-- Releases the holder's places.
function kind_concurrency.refund(_, key, _, _, _, _, clock_us, holder)
  local set, own = holder_set.open(key, holder, clock_us)
  if set and own then
    holder_set.remove(set, own)
  end
end

return kind_concurrency
