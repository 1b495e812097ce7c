--- Buys a day that may be left out: yesterday, if the streak would break without it. At most three a month of 30 days.
---
--- A refused call writes nothing.
--- @use clock
--- @subject the user
--- @key    streak      hash[streak]            'day' the last active day, 'length' of the streak, 'best' the longest, 'lost' the one before
--- @key    bought      string[bought]          days that were bought in this month, which begins with the first
--- @arg    offset      int[-840..840]          minutes that the user's clock is ahead of UTC
--- @result outcome     enum(frozen,needless,broken,too_many) needless: yesterday or today counts. broken: the streak is over
--- @result left        count[0..3]             days that can still be bought
--- @result retry_after duration                wait until another can be bought, if too_many; otherwise 0
--- @refused outcome needless broken too_many
local function freeze(streak, bought, offset)
  local day_us = 86400000000
  local today = math.floor((clock.now_us() + offset * 60000000) / day_us)
  local last = tonumber(redis.call('HGET', streak, 'day'))
  local used = math.min(tonumber(redis.call('GET', bought)) or 0, 3)
  if not last or today > last + 2 then
    return 'broken', 3 - used, 0
  end
  if today <= last + 1 then
    return 'needless', 3 - used, 0
  end
  if used >= 3 then
    return 'too_many', 0, math.max(clock.left_ms(bought), 1) * 1000
  end
  redis.call('HSET', streak, 'day', today - 1)
  if redis.call('INCR', bought) == 1 then
    clock.expire(bought, 30 * day_us)
  end
  return 'frozen', 2 - used, 0
end
