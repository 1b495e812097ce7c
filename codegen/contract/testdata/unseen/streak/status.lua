--- Returns a user's streak; writes nothing.
--- @use clock
--- @flags  no-writes
--- @subject the user
--- @key    streak      hash[streak]            'day' the last active day, 'length' of the streak, 'best' the longest, 'lost' the one before
--- @arg    offset      int[-840..840]          minutes that the user's clock is ahead of UTC
--- @result length      count[0..1000000]       days of the streak; 0 if it is broken
--- @result best        count[0..1000000]       days of the longest streak
--- @result marked      bool                    whether today counts already
--- @result breaks_after duration[0us..2d]      wait until the streak breaks without a further call; 0 if it is broken
local function status(streak, offset)
  local day_us = 86400000000
  local local_us = clock.now_us() + offset * 60000000
  local today = math.floor(local_us / day_us)
  local found = redis.call('HMGET', streak, 'day', 'length', 'best')
  local length = math.min(tonumber(found[2]) or 0, 1000000)
  local best = math.min(tonumber(found[3]) or 0, 1000000)
  local last = tonumber(found[1])
  if not last or today > last + 1 then
    return 0, best, false, 0
  end
  local breaks_us = (last + 2) * day_us - local_us
  return length, best, last >= today, math.min(breaks_us, 2 * day_us)
end
