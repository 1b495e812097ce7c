--- Restores the streak that a user lost, together with the days since then. It can be restored once.
---
--- A streak that is broken at the moment cannot be restored: mark today first. A refused call writes nothing.
--- @use clock
--- @subject the user
--- @key    streak      hash[streak]            'day' the last active day, 'length' of the streak, 'best' the longest, 'lost' the one before
--- @arg    offset      int[-840..840]          minutes that the user's clock is ahead of UTC
--- @result restored    bool                    false: the user has no streak, or it is broken
--- @result length      count[0..1000000]       days of the streak after the call
--- @refused restored
local function restore(streak, offset)
  local day_us = 86400000000
  local today = math.floor((clock.now_us() + offset * 60000000) / day_us)
  local found = redis.call('HMGET', streak, 'day', 'length', 'best', 'lost')
  local last = tonumber(found[1])
  if not last or today > last + 1 then
    return false, 0
  end
  local length = math.min(tonumber(found[2]) + tonumber(found[4]), 1000000)
  local best = math.max(tonumber(found[3]) or 0, length)
  redis.call('HSET', streak, 'length', length, 'best', best)
  redis.call('HDEL', streak, 'lost')
  clock.extend(streak, 366 * day_us)
  return true, length
end
