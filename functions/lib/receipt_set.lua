--- Receipts that were counted, in a sorted set by time, all kept for the longest dedup of the calls that counted one.
---
--- That dedup stands among them as the score of '', which is not a receipt: below 0, so before all times. It lives as long as the key.
--- A repeat that passed stands as '\\0<n>:<receipt>' beside its receipt, at the same time.
--- @use clock
--- @lib receipt_set
--- @state receipt_set 1 receipts by the time in microseconds when they were counted, half of one less when renewed; '\\0<n>:<receipt>' by that of its receipt; '' by the longest dedup, negative
local receipt_set = {}

-- From 2112 on a microsecond is the least that a double tells apart.
local halves_end_us = 4503599627370496

-- A call drops at most this many that no caller needs.
local most_dropped = 100

-- A caller lets at most this many repeats pass.
local most_repeats = 8

-- Whether a receipt was seen less than known_us ago. One from further ahead than that is a broken clock's.
function receipt_set.knows(key, receipt, now_us, known_us)
  local seen_us = tonumber(redis.call('ZSCORE', key, receipt))
  return seen_us and seen_us > now_us - known_us and seen_us - now_us <= known_us or false
end

-- The members for repeats up to the n-th.
local function marks_of(receipt, n)
  local marks = {}
  for i = 1, n do
    marks[i] = '\0' .. string.format('%.0f', i) .. ':' .. receipt
  end
  return marks
end

-- Looks for a receipt of which repeats may pass; any number of them where that is absent. Returns whether it is known, and not as often
-- repeated; the mark of this repeat, nil for none; and whether it was repeated so often.
function receipt_set.look(key, receipt, now_us, known_us, repeats)
  if not key or not receipt or not receipt_set.knows(key, receipt, now_us, known_us) then
    return false, nil, false
  end
  if not repeats then
    return true, nil, false
  end
  local at, marks = redis.call('ZSCORE', key, receipt), marks_of(receipt, repeats)
  for i = 1, #marks do
    if redis.call('ZSCORE', key, marks[i]) ~= at then
      return true, marks[i], false
    end
  end
  return false, nil, true
end

-- Notes that a call passed for which look returned a mark, or that the receipt was repeated often enough and is counted again.
function receipt_set.passed(key, receipt, mark, spent)
  if not key or not receipt then
    return
  end
  local at = mark and redis.call('ZSCORE', key, receipt)
  if mark and at then
    redis.call('ZADD', key, at, mark) -- rlfunc:ignore missing-ttl the receipt is there, and with it the key's expiry
  elseif spent then
    redis.call('ZREM', key, unpack(marks_of(receipt, most_repeats)))
  end
end

-- The longest dedup that is kept; 0 where none is.
local function longest_us(key)
  local longest = redis.call('ZSCORE', key, '')
  return longest and clock.parse_us(string.sub(longest, 2)) or 0
end

-- Lets the key live for the longest dedup, which known_us may be now, and for as long as now is ahead of the clock.
local function live(key, known_us, kept_us, ahead_us)
  if known_us > kept_us then
    redis.call('ZADD', key, string.format('-%.0f', known_us), '')
    kept_us = known_us
  end
  if ahead_us == 0 then
    clock.expire_after(key, kept_us)
  else
    clock.expire(key, kept_us + ahead_us)
  end
end

-- Adds a receipt that was counted at now_us, which may be ahead of the clock, after it drops some that no caller needs.
function receipt_set.add(key, receipt, now_us, known_us, ahead_us)
  local kept_us = longest_us(key)
  if kept_us > 0 then
    local gone = redis.call('ZCOUNT', key, '0', now_us - math.max(known_us, kept_us))
    if gone > 0 then
      redis.call('ZREMRANGEBYRANK', key, '1', math.min(gone, most_dropped))
    end
  end
  redis.call('ZADD', key, clock.text(now_us), receipt)
  live(key, known_us, kept_us, ahead_us)
end

-- Renews a receipt. Half a microsecond less than the time tells that it is not that of the admission, and changes no
-- comparison with a whole one.
function receipt_set.renew(key, receipt, now_us, known_us, ahead_us)
  if now_us < halves_end_us then
    redis.call('ZADD', key, string.format('%.1f', now_us - 0.5), receipt)
  else
    redis.call('ZADD', key, now_us, receipt)
  end
  live(key, known_us, longest_us(key), ahead_us)
end

-- When a receipt was counted; nil when it is not known, or was renewed since.
function receipt_set.admitted_us(key, receipt)
  local seen = redis.call('ZSCORE', key, receipt)
  if seen then
    return clock.parse_us(seen)
  end
  return nil
end

-- Forgets a receipt and its repeats, as if it had not been counted.
function receipt_set.forget(key, receipt)
  redis.call('ZREM', key, receipt, unpack(marks_of(receipt, most_repeats)))
end

return receipt_set
