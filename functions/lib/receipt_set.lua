--- Receipts that were counted, in a sorted set by time, kept for the longest dedup of the calls that counted one.
---
--- That dedup is the score of '', which is not a receipt: negative, so it precedes all times. A repeat that passed is
--- '\\0<n>:<receipt>' at its receipt's time. A receipt that begins with a NUL gets two more, so that it is no repeat.
--- @use clock
--- @lib receipt_set
--- @state receipt_set 1 receipts by the time in microseconds when they were counted, half of one less when renewed; '\\0<n>:<receipt>' by that of its receipt; '' by the longest dedup, negative
local receipt_set = {}

-- From 2112 on, a double cannot represent half a microsecond.
local half_us_limit = 4503599627370496

-- A call drops at most this many receipts that no caller needs.
local max_dropped = 100

-- A caller lets at most this many repeats pass.
local max_repeats = 8

-- Returns the member for a receipt.
local function member(receipt)
  if string.byte(receipt) == 0 then
    return '\0\0' .. receipt
  end
  return receipt
end

-- Returns whether a receipt was counted less than known_us ago. A receipt further ahead than that is from a wrong clock and does
-- not count.
function receipt_set.knows(key, receipt, now_us, known_us)
  local counted_us = tonumber(redis.call('ZSCORE', key, member(receipt)))
  return counted_us and counted_us > now_us - known_us and counted_us - now_us <= known_us or false
end

-- Returns the members for repeats up to the n-th.
local function marks_of(receipt, n)
  local marks = {}
  for i = 1, n do
    marks[i] = '\0' .. string.format('%.0f', i) .. ':' .. receipt
  end
  return marks
end

-- Checks a receipt whose repeats may pass: at most `repeats` of them, or any number if that is nil. Returns whether it is known
-- and may pass; the mark of this repeat, or nil; and whether its repeats are used up.
function receipt_set.check(key, receipt, now_us, known_us, repeats)
  if not key or not receipt or not receipt_set.knows(key, receipt, now_us, known_us) then
    return false, nil, false
  end
  if not repeats then
    return true, nil, false
  end
  local at, marks = redis.call('ZSCORE', key, member(receipt)), marks_of(receipt, repeats)
  for i = 1, #marks do
    if redis.call('ZSCORE', key, marks[i]) ~= at then
      return true, marks[i], false
    end
  end
  return false, nil, true
end

-- Records that a call passed with the mark that check returned, or that the receipt's repeats were used up and it starts again.
function receipt_set.record_pass(key, receipt, mark, used_up)
  if not key or not receipt then
    return
  end
  local at = mark and redis.call('ZSCORE', key, member(receipt))
  if mark and at then
    redis.call('ZADD', key, at, mark)
  elseif used_up then
    redis.call('ZREM', key, unpack(marks_of(receipt, max_repeats)))
  end
end

-- Returns the longest dedup that is stored, 0 without one.
local function longest_us(key)
  local longest = redis.call('ZSCORE', key, '')
  return longest and clock.parse_us(string.sub(longest, 2)) or 0
end

-- Extends the key by the longest dedup, which may now be known_us, and by how far now is ahead of the clock.
local function extend(key, known_us, kept_us, ahead_us)
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

-- Adds a receipt that was counted at now_us, which may be ahead of the clock, after dropping some that no caller needs.
function receipt_set.add(key, receipt, now_us, known_us, ahead_us)
  local kept_us = longest_us(key)
  if kept_us > 0 then
    local gone = redis.call('ZCOUNT', key, '0', now_us - math.max(known_us, kept_us))
    if gone > 0 then
      redis.call('ZREMRANGEBYRANK', key, '1', math.min(gone, max_dropped))
    end
  end
  redis.call('ZADD', key, clock.text(now_us), member(receipt))
  extend(key, known_us, kept_us, ahead_us)
end

-- Renews a receipt. Subtracting half a microsecond marks the time as that of a renewal, and changes no comparison with a whole
-- one.
function receipt_set.renew(key, receipt, now_us, known_us, ahead_us)
  if now_us < half_us_limit then
    redis.call('ZADD', key, string.format('%.1f', now_us - 0.5), member(receipt))
  else
    redis.call('ZADD', key, now_us, member(receipt))
  end
  extend(key, known_us, longest_us(key), ahead_us)
end

-- Returns when a receipt was counted; nil if it is unknown or was renewed.
function receipt_set.admitted_us(key, receipt)
  local counted = redis.call('ZSCORE', key, member(receipt))
  if counted then
    return clock.parse_us(counted)
  end
  return nil
end

-- Forgets a receipt and its repeats, as if it had not been counted.
function receipt_set.forget(key, receipt)
  redis.call('ZREM', key, member(receipt), unpack(marks_of(receipt, max_repeats)))
end

return receipt_set
