--- Counts today as an active day. The first call of a day counts, and a day that was left out begins a new streak.
--- @use clock
--- @subject the user
--- @key    streak      hash[streak]            'day' the last active day, 'length' of the streak, 'best' the longest, 'lost' the one before
--- @arg    offset      int[-840..840]          minutes that the user's clock is ahead of UTC
--- @result length      count[1..1000000]       days of the streak, with today
--- @result best        count[1..1000000]       days of the longest streak
local function mark(streak, offset)
  local day_us = 86400000000
  local today = math.floor((clock.now_us() + offset * 60000000) / day_us)
  local found = redis.call('HMGET', streak, 'day', 'length', 'best')
  local last, length, best = tonumber(found[1]), tonumber(found[2]) or 0, tonumber(found[3]) or 0
  if last and today - last <= 1 then
    length = math.min(length + 1, 1000000)
  else
    if length > 0 then
      redis.call('HSET', streak, 'lost', length)
    end
    length = 1
  end
  best = math.max(best, length)
  redis.call('HSET', streak, 'day', today, 'length', length, 'best', best)
  clock.expire_after(streak, 366 * day_us)
  return length, best
end
